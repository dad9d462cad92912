// When to dial again after a session ended.
#pragma once

#include <random>

#include "common/clock.h"

namespace assay::agent {

// Full jitter: each wait is drawn evenly from nothing to a bound that doubles from
// 1 s to 60 s, except that the first is at least 0.2 s. Ten thousand agents that
// lose their coordinator together come back spread out. Not thread-safe.
class Backoff {
 public:
  explicit Backoff(uint64_t seed) : random_(seed) {}

  // The wait before the next attempt.
  Duration Next();
  // A session has ended that lasted `lived`: after two minutes of stability the
  // next wait is a short one again.
  void SessionEnded(Duration lived);

 private:
  std::mt19937_64 random_;
  int attempt_ = 0;
};

}  // namespace assay::agent
