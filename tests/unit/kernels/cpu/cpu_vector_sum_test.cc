#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "host/cpu.h"
#include "kernels/cpu/host_buffer.h"
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
      for (const int64_t passes : {1, 3}) {
        EXPECT_EQ(VectorSum(variant, x.data(), static_cast<int64_t>(n), passes),
                  static_cast<double>(passes) * expected)
            << word << " " << n;
      }
      if (n < x.size()) expected += x[n];
    }
  }
}

TEST(CpuVectorSum, EveryVariantOddSizes) {
  const Benchmark* sum = *BuiltinBenchmarks().Find("cpu_vector_sum");
  for (const char* variant : {"scalar", "auto", "avx2", "avx512"}) {
    if (!HasInstructionsFor(SumVariantOf(variant))) continue;
    RunSmall(*sum, {{"variant", variant}, {"elements", "1001"}, {"threads", "2"}});
  }
  RunSmall(*sum, {{"elements", "100003"}, {"threads", "1"}});
  RunSmall(*sum, {{"elements", "1"}, {"threads", "2"}});
  RunSmall(*sum, {{"elements", "1001"}, {"threads", "2"}, {"per_thread", "true"}});
}

// An iteration reads far more than the caches hold, but from the caches.
TEST(CpuVectorSum, SmallArrayIsHotAndLargeOneIsCold) {
  const Benchmark* sum = *BuiltinBenchmarks().Find("cpu_vector_sum");
  if (!Cpu().last_level_cache_bytes) GTEST_SKIP() << "the caches of this machine are not known";
  const int64_t too_large = 2 * *Cpu().last_level_cache_bytes / 8 + 1;
  if (!CheckMemoryFor(16 * static_cast<double>(too_large)).ok())
    GTEST_SKIP() << "too little memory";
  for (const auto& [elements, cache] :
       {std::pair{int64_t{2048}, "hot"}, std::pair{too_large, "cold"}}) {
    RunContext context;
    context.parameters =
        *CheckParameters(*sum, {{"elements", std::to_string(elements)}, {"threads", "1"}});
    const auto prepared = sum->Prepare(context);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    EXPECT_EQ((*prepared)->HowTimed().cache, cache) << elements;
  }
}

}  // namespace
}  // namespace assay
