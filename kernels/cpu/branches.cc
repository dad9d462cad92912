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

// The statements in assembly are empty. Because they differ, the compiler must keep the branch: it
// may neither execute both of them nor replace them by a conditional move or by vectors. Aligned,
// so that the loop does not depend on the code before it: one that straddles two cache lines takes
// up to twice as long.
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
