// The loop timed by the cpu_branches benchmark. Each step has one conditional branch, which the CPU
// must predict.
#pragma once

#include <cstdint>
#include <string>

namespace assay {

enum class BranchPattern { kAlways, kAlternating, kRandom };

// `word` must be always, alternating or random.
BranchPattern BranchPatternOf(const std::string& word);

// Returns true if the branch in step `i` selects the addition, or false if it selects the
// subtraction.
bool Adds(BranchPattern pattern, uint64_t seed, int64_t i);

// Returns the number of steps in an iteration, a multiple of the pattern's period. It is at least
// 2^20, which makes the cost of the function call negligible.
inline int64_t BranchSteps(int64_t period) {
  constexpr int64_t kLeast = int64_t{1} << 20;
  return (kLeast + period - 1) / period * period;
}

// Returns a sum over the steps i from 0 to steps - 1. Adds i if adds[i] is 1, and subtracts it
// otherwise. In the machine code, a branch chooses between these two instructions.
int64_t SumByBranches(const uint8_t* adds, int64_t steps);

}  // namespace assay
