#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "host/cpu.h"
#include "kernels/cpu/chase_size.h"
#include "kernels/cpu/pointer_cycle.h"
#include "kernels/registry.h"
#include "tests/unit/kernels/run_small.h"

namespace assay {
namespace {

constexpr int64_t kStride = 48;

// A cycle in memory that a test may change.
struct SmallCycle {
  explicit SmallCycle(int64_t elements)
      : memory(static_cast<size_t>(elements * kStride / 16)), order(static_cast<size_t>(elements)) {
    cycle = {reinterpret_cast<char*>(memory.data()), kStride, elements};
    cycle.Build(5, &order);
  }

  std::vector<PointerCycle::Element> memory;
  std::vector<int64_t> order;
  PointerCycle cycle;
};

TEST(PointerCycle, WalkVisitsEveryElementOnceAndEndsWhereComputed) {
  for (const int64_t elements : {1, 2, 3, 1000}) {
    const SmallCycle small(elements);
    std::vector<int> visits(static_cast<size_t>(elements));
    const PointerCycle::Element* at = small.cycle.First();
    for (int64_t i = 0; i < elements; ++i, at = at->next) {
      const char* const place = reinterpret_cast<const char*>(at);
      ++visits[static_cast<size_t>((place - small.cycle.base) / kStride)];
    }
    EXPECT_EQ(at, small.cycle.First());
    EXPECT_EQ(visits, std::vector<int>(static_cast<size_t>(elements), 1));
    constexpr int64_t kLoads = 100 * kWalkUnroll;
    const PointerCycle::Element* const end = Walk(small.cycle.First(), kLoads);
    EXPECT_TRUE(small.cycle.Check(end, kLoads % elements).passed);
  }
}

TEST(PointerCycle, OrderDependsOnTheSeed) {
  SmallCycle small(1000);
  const std::vector<int64_t> order = small.order;
  small.cycle.Build(6, &small.order);
  EXPECT_NE(small.order, order);
}

TEST(PointerCycle, PlantedFaultsAreFound) {
  SmallCycle small(1000);
  const PointerCycle::Element* const first = small.cycle.First();
  EXPECT_TRUE(small.cycle.Check(first, 0).passed);
  EXPECT_EQ(small.cycle.Check(nullptr, 0).error, 1);
  EXPECT_EQ(small.cycle.Check(first->next, 0).error, 1);
  EXPECT_EQ(small.cycle.Check(first + 1, 0).error, 1) << "between two elements";

  PointerCycle::Element* const element = small.cycle.At(500);
  const PointerCycle::Element good = *element;
  element->next = good.next->next;
  EXPECT_EQ(small.cycle.Check(first, 0).error, 1);
  element->next = nullptr;
  EXPECT_EQ(small.cycle.Check(first, 0).error, 1);
  element->next = small.cycle.At(1000);
  EXPECT_EQ(small.cycle.Check(first, 0).error, 1) << "past the end";
  *element = good;
  // Its predecessor and it contradict their successors.
  element->position = -1;
  EXPECT_EQ(small.cycle.Check(first, 0).error, 2);
}

TEST(CpuPointerChase, OddSizes) {
  const Benchmark* chase = *BuiltinBenchmarks().Find("cpu_pointer_chase");
  RunSmall(*chase, {{"bytes", "16"}, {"stride", "16"}});
  RunSmall(*chase, {{"bytes", "64"}});
  RunSmall(*chase, {{"bytes", "300048"}, {"stride", "112"}});
  RunSmall(*chase, {{"bytes", "4MiB"}, {"stride", "2MiB"}});
}

TEST(CpuPointerChase, LevelChoosesTheWorkingSet) {
  const Benchmark* chase = *BuiltinBenchmarks().Find("cpu_pointer_chase");
  const std::vector<int64_t> caches = DataCacheBytes();
  if (caches.empty()) GTEST_SKIP() << "the caches of this machine are not known";
  RunContext context;
  context.parameters = *CheckParameters(*chase, {{"level", "l1"}});
  const auto prepared = chase->Prepare(context);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  std::vector<double> seconds;
  ASSERT_TRUE((*prepared)->Run(3, 1, &seconds).ok());
  const auto half = static_cast<double>(caches[0] / 2);
  EXPECT_EQ((*prepared)->Observed("working_set"), std::vector<double>(3, half));
}

TEST(CpuPointerChase, LevelsLieBetweenTheSizesOfCaches) {
  const std::vector<int64_t> caches = {32 << 10, 512 << 10, 32 << 20};
  EXPECT_EQ(ChaseBytes("l1", caches), 16 << 10);
  EXPECT_EQ(ChaseBytes("l2", caches), 128 << 10);
  EXPECT_EQ(ChaseBytes("l3", caches), 4 << 20);
  EXPECT_EQ(ChaseBytes("dram", {32 << 10, 512 << 10, 64 << 20}), 512 << 20);
  EXPECT_EQ(ChaseBytes("dram", {32 << 10, 1 << 20}), 256 << 20);
  EXPECT_EQ(ChaseBytes("l3", {32 << 10, 1 << 20}), std::nullopt);
  EXPECT_EQ(ChaseBytes("dram", {}), std::nullopt);
}

}  // namespace
}  // namespace assay
