// The loop that the cpu_branches benchmark times. Each step has one conditional branch, which the
// CPU must predict.
#pragma once

#include <cstdint>
#include <string>

namespace assay {

enum class BranchPattern { kAlways, kAlternating, kRandom };

// `word` must be always, alternating or random.
BranchPattern BranchPatternOf(const std::string& word);

// Returns true if the branch in step `i` leads to an addition, and false if it leads to a
// subtraction.
bool Adds(BranchPattern pattern, uint64_t seed, int64_t i);

// Returns the number of steps in an iteration, a multiple of the pattern's period. It is at least
// 2^20, so that the time to call the function is negligible compared with the steps.
inline int64_t BranchSteps(int64_t period) {
  constexpr int64_t kLeast = int64_t{1} << 20;
  return (kLeast + period - 1) / period * period;
}

// Returns a sum over the steps i from 0 to steps - 1, to which a step adds i if adds[i] is 1, and
// from which it subtracts i otherwise. A branch in the machine code chooses between the two, each
// of which is one instruction.
int64_t SumByBranches(const uint8_t* adds, int64_t steps);

}  // namespace assay
