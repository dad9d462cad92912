// Renews the certificate of a node that has joined a fleet.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <random>

#include "common/clock.h"
#include "common/status.h"
#include "identity/enrolled.h"

namespace assay::agent {

// Two functions that renew the certificate, and two callbacks that report the outcome. All are
// called on the renewer's thread. Only the first two may block.
struct Renewal {
  // Renews with a gRPC call, which requires that the current certificate is valid.
  std::function<Result<identity::Enrolled>()> by_session;
  // Renews by proving possession of the key, which also works after the certificate has expired.
  std::function<Result<identity::Enrolled>()> by_key;
  // Called when a new certificate has been stored in the files. Must return quickly.
  std::function<void()> renewed;
  // Called when the coordinator has refused to renew the certificate for good. Must return quickly.
  std::function<void(const Status&)> refused;
};

// A schedule for renewing a certificate. Measures time on the monotonic clock, so a wrong wall
// clock has no effect after the first renewal. Not thread-safe.
//   - Renews after two thirds of the certificate's lifetime, or randomly up to a tenth earlier, so
//     that nodes that joined together do not all renew at once.
//   - After a failure, tries again after one thirtieth of the lifetime (at least 1 s, at most 5
//     min).
//   - Uses Renewal::by_session until the certificate expires. In the last sixth of the lifetime,
//     falls back to Renewal::by_key. After expiry, uses only by_key.
class RenewalSchedule {
 public:
  RenewalSchedule(const Clock& clock, const identity::Enrolled& enrolled, Renewal renewal,
                  uint64_t seed);

  // Renews if it is time, and returns the time to wait before the next call.
  Duration Step();

 private:
  void Plan(const identity::Enrolled& enrolled, Duration left);
  Result<identity::Enrolled> Renew();

  const Clock& clock_;
  const Renewal renewal_;
  std::mt19937_64 random_;
  Duration life_{0};
  MonotonicTime due_;
  MonotonicTime end_;
};

// Runs a RenewalSchedule on its own thread. The destructor does not wait for a renewal in progress,
// but once it has returned, no more callbacks are called.
class Renewer {
 public:
  Renewer(const identity::Enrolled& enrolled, const Renewal& renewal);
  ~Renewer();
  Renewer(const Renewer&) = delete;
  Renewer& operator=(const Renewer&) = delete;

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

// Returns an error with reason BANNED or NO_IDENTITY if `status` means that a coordinator has
// refused this node permanently, and nullopt otherwise. If `status` has no reason, which gRPC 1.51
// sometimes drops, goes by the error code.
std::optional<Status> ExpulsionOf(const Status& status);

}  // namespace assay::agent
