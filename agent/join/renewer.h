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

// The ways to renew, and who is told. All block or are called on the renewer's thread.
struct Renewal {
  // Over gRPC, for which the present certificate must be valid.
  std::function<Result<identity::Enrolled>()> by_session;
  // By proof of the key, which also works after the certificate has expired.
  std::function<Result<identity::Enrolled>()> by_key;
  // The files have a new certificate. Must return quickly.
  std::function<void()> renewed;
  // The coordinator will never renew it again. Must return quickly.
  std::function<void(const Status&)> refused;
};

// Decides when to renew: after two thirds of the certificate's life, or up to a tenth earlier, so
// that nodes that joined together do not renew together. After a failure, tries again every
// thirtieth of its life. In the last sixth, and after the end, also uses the key. Measures lives on
// the monotonic clock, so a wrong clock does not matter after the first renewal. Not thread-safe.
class RenewalSchedule {
 public:
  RenewalSchedule(const Clock& clock, const identity::Enrolled& enrolled, Renewal renewal,
                  uint64_t seed);

  // Renews if it is time, and returns the time until the next call.
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

// Follows a RenewalSchedule in a thread. The destructor does not wait for a renewal in progress,
// after which nothing is called any more.
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

// Returns the error, with reason BANNED or NO_IDENTITY, if a coordinator has refused this node for
// good. The checks before a call lose their reason in gRPC 1.51, so their code decides.
std::optional<Status> ExpulsionOf(const Status& status);

}  // namespace assay::agent
