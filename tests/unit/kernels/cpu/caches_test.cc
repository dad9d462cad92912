#include "kernels/cpu/caches.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

constexpr int64_t kMib = int64_t{1} << 20;
constexpr int64_t kGib = int64_t{1} << 30;

HostCpu CpuWith(std::optional<int64_t> cache_bytes) {
  HostCpu cpu;
  cpu.last_level_cache_bytes = cache_bytes;
  return cpu;
}

TEST(CpuCaches, TwiceTheLastLevelCacheIsCold) {
  const HostCpu cpu = CpuWith(32 * kMib);
  EXPECT_TRUE(StaysInCpuCaches(64 * kMib - 1, cpu));
  EXPECT_FALSE(StaysInCpuCaches(64 * kMib, cpu));
}

TEST(CpuCaches, UnknownCacheCountsAsLarge) {
  const HostCpu cpu = CpuWith(std::nullopt);
  EXPECT_TRUE(StaysInCpuCaches(64 << 10, cpu));
  EXPECT_TRUE(StaysInCpuCaches(kGib, cpu));
  EXPECT_FALSE(StaysInCpuCaches(64 * static_cast<double>(kGib), cpu));
  EXPECT_EQ(ColdSets(1e6, cpu), 1);
}

TEST(CpuCaches, ColdSetsFillTwiceTheCache) {
  for (const int64_t cache : {kMib, 32 * kMib, 2 * kGib + 256 * kMib}) {
    const HostCpu cpu = CpuWith(cache);
    for (const double set_bytes : {192.0, 1e6, 1e9, 1e10}) {
      const int64_t sets = ColdSets(set_bytes, cpu);
      EXPECT_GE(sets, 2);
      EXPECT_FALSE(StaysInCpuCaches(static_cast<double>(sets - 1) * set_bytes, cpu));
    }
  }
}

}  // namespace
}  // namespace assay
