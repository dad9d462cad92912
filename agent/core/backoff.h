// Computes the delays between attempts to connect to a coordinator.
#pragma once

#include <optional>
#include <random>

#include "common/clock.h"

namespace assay::agent {

// A generator of random delays between connection attempts. If thousands of agents lose their
// coordinator at once, the random delays keep them from all reconnecting at the same time. Each
// delay is between 0.2 s and an upper bound, which starts at 1 s and doubles with each attempt, up
// to 60 s. Not thread-safe.
class Backoff {
 public:
  explicit Backoff(uint64_t seed) : random_(seed) {}

  // Returns the delay before the next attempt. `within` limits the upper bound of the delay.
  Duration Next(std::optional<Duration> within = std::nullopt);
  // Records the end of a session that lasted `lived`. After a session of at least two minutes,
  // resets the upper bound of the delay to 1 s.
  void SessionEnded(Duration lived);

 private:
  std::mt19937_64 random_;
  int attempt_ = 0;
};

}  // namespace assay::agent
