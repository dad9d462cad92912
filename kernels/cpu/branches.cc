#include "kernels/cpu/branches.h"

#include "kernels/random.h"

namespace assay {

BranchPattern BranchPatternOf(const std::string& word) {
  if (word == "always") return BranchPattern::kAlways;
  return word == "alternating" ? BranchPattern::kAlternating : BranchPattern::kRandom;
}

bool Adds(BranchPattern pattern, uint64_t seed, int64_t i) {
  if (pattern == BranchPattern::kAlways) return true;
  if (pattern == BranchPattern::kAlternating) return i % 2 == 0;
  return RandomAt(seed, static_cast<uint64_t>(i)) >> 63 == 1;
}

// Uses two assembly statements without instructions to keep the compiler from removing the branch.
// Because the two differ, the compiler can neither execute both paths nor replace the branch with a
// conditional move or vector instructions. The function is aligned because a loop that straddles
// two cache lines takes up to twice as long.
__attribute__((aligned(64))) int64_t SumByBranches(const uint8_t* adds, int64_t steps) {
  int64_t sum = 0;
  for (int64_t i = 0; i < steps; ++i) {
    if (adds[i] != 0) {
      sum += i;
      asm volatile("/* adds */" : "+r"(sum));
    } else {
      sum -= i;
      asm volatile("/* subtracts */" : "+r"(sum));
    }
  }
  return sum;
}

}  // namespace assay
