#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kernels/cpu/loops.h"
#include "kernels/registry.h"
#include "tests/unit/kernels/run_small.h"

namespace assay {
namespace {

TEST(VectorSum, EveryVariantIsExactAtEveryLength) {
  std::vector<double> x(300);
  for (size_t i = 0; i < x.size(); ++i) x[i] = StreamInputB(7, static_cast<int64_t>(i));
  for (const char* word : {"scalar", "auto", "avx2", "avx512"}) {
    const SumVariant variant = SumVariantOf(word);
    if (!HasInstructionsFor(variant)) continue;
    double expected = 0;
    for (size_t n = 0; n <= x.size(); ++n) {
      EXPECT_EQ(VectorSum(variant, x.data(), static_cast<int64_t>(n)), expected)
          << word << " " << n;
      if (n < x.size()) expected += x[n];
    }
  }
}

TEST(CpuVectorSum, EveryVariantOddSizes) {
  const Benchmark* sum = *BuiltinBenchmarks().Find("cpu_vector_sum");
  for (const char* variant : {"scalar", "auto", "avx2", "avx512"}) {
    if (!HasInstructionsFor(SumVariantOf(variant))) continue;
    for (const char* elements : {"1", "33", "100003"}) {
      RunSmall(*sum, {{"variant", variant}, {"elements", elements}, {"threads", "2"}});
    }
  }
}

}  // namespace
}  // namespace assay
