// The loop of cpu_branches: one conditional branch per step, which the CPU has to predict.
#pragma once

#include <cstdint>
#include <string>

namespace assay {

enum class BranchPattern { kAlways, kAlternating, kRandom };

// `word` must be always, alternating or random.
BranchPattern BranchPatternOf(const std::string& word);

// Returns true if the branch of step `i` adds, false if it subtracts.
bool Adds(BranchPattern pattern, uint64_t seed, int64_t i);

// Returns the number of steps of an iteration: whole periods of the pattern, at least 2^20 steps,
// so that the time of a call is negligible.
inline int64_t BranchSteps(int64_t period) {
  constexpr int64_t kLeast = int64_t{1} << 20;
  return (kLeast + period - 1) / period * period;
}

// Returns the sum of +i for every step i of [0, steps) with adds[i] = 1, and of -i for the others.
// A branch of the machine code decides which; both ways take one instruction.
int64_t SumByBranches(const uint8_t* adds, int64_t steps);

}  // namespace assay
