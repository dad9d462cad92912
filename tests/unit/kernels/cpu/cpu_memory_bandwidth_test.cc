#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "host/cpu.h"
#include "kernels/cpu/caches.h"
#include "kernels/cpu/loops.h"
#include "kernels/registry.h"
#include "tests/unit/kernels/run_small.h"

namespace assay {
namespace {

// With a size between one array and all arrays of triad, timing and ceiling must agree.
TEST(CpuMemoryBandwidth, HotFollowsTheBytesOfAnIteration) {
  const int64_t cache = Cpu().last_level_cache_bytes.value_or(0);
  if (cache == 0) GTEST_SKIP() << "the caches of this machine are not known";
  const Benchmark* benchmark = *BuiltinBenchmarks().Find("cpu_memory_bandwidth");
  for (const auto& [op, cold] : {std::pair{"copy", false}, std::pair{"triad", true}}) {
    const std::string bytes = std::to_string(cache * 5 / 6 / 8 * 8);
    RunContext context;
    context.parameters =
        *CheckParameters(*benchmark, {{"op", op}, {"bytes", bytes}, {"threads", "1"}});
    const auto prepared = benchmark->Prepare(context);
    if (!prepared.ok()) GTEST_SKIP() << prepared.status();
    EXPECT_EQ((*prepared)->HowTimed().cache, cold ? "cold" : "hot") << op;
    EXPECT_EQ(StaysInCpuCaches(benchmark->WorkOf(context.parameters, 1)->bytes), !cold) << op;
  }
}

TEST(CpuMemoryBandwidth, EveryOpOddSizes) {
  const Benchmark* benchmark = *BuiltinBenchmarks().Find("cpu_memory_bandwidth");
  for (const char* op : {"copy", "scale", "add", "triad"}) {
    RunSmall(*benchmark, {{"op", op}, {"bytes", "8"}, {"threads", "3"}});
    RunSmall(*benchmark, {{"op", op}, {"bytes", "99992"}, {"threads", "2"}});
  }
}

TEST(Stream, PlantedFaultsAreFound) {
  std::vector<double> b(1000), c(1000), out(1000);
  for (int64_t i = 0; i < 1000; ++i) {
    b[static_cast<size_t>(i)] = StreamInputB(7, i);
    c[static_cast<size_t>(i)] = StreamInputC(7, i);
  }
  for (const char* word : {"copy", "scale", "add", "triad"}) {
    const CpuStreamOp op = CpuStreamOpOf(word);
    Stream(op, out.data(), b.data(), c.data(), 0, 1000);
    EXPECT_EQ(FindMismatches(op, 7, out.data(), 0, 1000).count, 0) << word;
    out[500] = std::nan("");
    out[700] += 1;
    EXPECT_EQ(FindMismatches(op, 7, out.data(), 0, 1000).count, 2) << word;
    EXPECT_EQ(FindMismatches(op, 7, out.data(), 0, 1000).first, 500) << word;
  }
}

}  // namespace
}  // namespace assay
