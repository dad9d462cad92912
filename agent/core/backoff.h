// Delays between attempts to dial after a session has ended.
#pragma once

#include <optional>
#include <random>

#include "common/clock.h"

namespace assay::agent {

// Computes random delays before reconnecting, so that thousands of agents that lose their
// coordinator together do not all reconnect at the same time. A delay is uniformly distributed
// between 0.2 s and a bound, which starts at 1 s and doubles with each attempt up to 60 s. Not
// thread-safe.
class Backoff {
 public:
  explicit Backoff(uint64_t seed) : random_(seed) {}

  // Returns the delay before the next attempt. `within` limits the bound.
  Duration Next(std::optional<Duration> within = std::nullopt);
  // Records the end of a session that lasted `lived`. A session of at least two minutes resets the
  // bound to 1 s.
  void SessionEnded(Duration lived);

 private:
  std::mt19937_64 random_;
  int attempt_ = 0;
};

}  // namespace assay::agent
