// Delays between attempts to dial after a session has ended.
#pragma once

#include <random>

#include "common/clock.h"

namespace assay::agent {

// Full jitter: each delay is uniform between zero and a bound that doubles from 1 s to 60 s, except
// that the first delay is at least 0.2 s. Ten thousand agents that lose their coordinator together
// reconnect spread out. Not thread-safe.
class Backoff {
 public:
  explicit Backoff(uint64_t seed) : random_(seed) {}

  // Returns the delay before the next attempt.
  Duration Next();
  // Records the end of a session that lasted `lived`: after two stable minutes the next delay is
  // short again.
  void SessionEnded(Duration lived);

 private:
  std::mt19937_64 random_;
  int attempt_ = 0;
};

}  // namespace assay::agent
