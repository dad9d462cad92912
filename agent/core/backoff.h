// Delays between attempts to dial after a session has ended.
#pragma once

#include <optional>
#include <random>

#include "common/clock.h"

namespace assay::agent {

// Computes random delays before reconnecting. A delay is uniformly distributed between 0.2 s and a
// bound, which doubles with each attempt from 1 s to 60 s. Thousands of agents that lose their
// coordinator together therefore do not reconnect at the same time. Not thread-safe.
class Backoff {
 public:
  explicit Backoff(uint64_t seed) : random_(seed) {}

  // Returns the delay before the next attempt. `within` limits the bound.
  Duration Next(std::optional<Duration> within = std::nullopt);
  // Records the end of a session that lasted `lived`. After a session of at least two minutes, the
  // delays start again with the shortest bound.
  void SessionEnded(Duration lived);

 private:
  std::mt19937_64 random_;
  int attempt_ = 0;
};

}  // namespace assay::agent
