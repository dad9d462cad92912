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

// The two ways to renew the certificate, which may block, and the callbacks for the outcome. All of
// them are called on the renewer's thread.
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

// A schedule for renewing a certificate. Renews after two thirds of the certificate's lifetime, or
// randomly up to a tenth earlier, so that nodes that joined together do not all renew at once.
// After a failure, tries again after one thirtieth of the lifetime (at least 1 s, at most 5 min).
// Renews with Renewal::by_session, falls back to Renewal::by_key in the last sixth of the lifetime,
// and uses only by_key after expiry. Runs on the monotonic clock, so changes to the system time
// have no effect after the first renewal. Not thread-safe.
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

// Runs a RenewalSchedule on its own thread. The destructor does not wait for a renewal in progress.
// Once it has returned, no more callbacks are called.
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
// refused this node permanently, and nullopt otherwise. gRPC 1.51 drops the reason of some
// refusals, in which case it is derived from the error code.
std::optional<Status> ExpulsionOf(const Status& status);

}  // namespace assay::agent
