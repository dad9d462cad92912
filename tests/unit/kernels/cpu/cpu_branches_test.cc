#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kernels/cpu/branches.h"
#include "kernels/registry.h"
#include "tests/unit/kernels/run_small.h"

namespace assay {
namespace {

TEST(SumByBranches, IsExactAtEveryLength) {
  for (const char* word : {"always", "alternating", "random"}) {
    const BranchPattern pattern = BranchPatternOf(word);
    std::vector<uint8_t> adds;
    int64_t expected = 0;
    for (int64_t i = 0; i < 300; ++i) {
      EXPECT_EQ(SumByBranches(adds.data(), i), expected) << word << " " << i;
      const bool add = Adds(pattern, 7, i);
      adds.push_back(add ? 1 : 0);
      expected += add ? i : -i;
    }
  }
}

TEST(BranchPattern, HalfOfTheRandomBranchesAdd) {
  int64_t always = 0, alternating = 0, random = 0, changes = 0;
  for (int64_t i = 0; i < 100000; ++i) {
    always += Adds(BranchPattern::kAlways, 7, i);
    alternating += Adds(BranchPattern::kAlternating, 7, i);
    random += Adds(BranchPattern::kRandom, 7, i);
    changes += Adds(BranchPattern::kRandom, 7, i) != Adds(BranchPattern::kRandom, 7, i + 1);
  }
  EXPECT_EQ(always, 100000);
  EXPECT_EQ(alternating, 50000);
  EXPECT_NEAR(static_cast<double>(random), 50000, 1000);
  EXPECT_NEAR(static_cast<double>(changes), 50000, 1000);
}

TEST(CpuBranches, EveryPatternOddPeriods) {
  const Benchmark* branches = *BuiltinBenchmarks().Find("cpu_branches");
  for (const char* pattern : {"always", "alternating", "random"}) {
    for (const char* period : {"1", "33", "100003"}) {
      RunSmall(*branches, {{"pattern", pattern}, {"period", period}});
    }
  }
}

}  // namespace
}  // namespace assay
