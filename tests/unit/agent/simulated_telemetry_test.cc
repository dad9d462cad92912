#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/simulate/telemetry.h"

namespace assay::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

const WallTime kStart = WallTime(std::chrono::seconds(1'767'225'600));

v1::NodeDescription MakeNode(const std::string& name) {
  v1::NodeDescription node;
  node.set_name(name);
  for (int i = 0; i < 2; ++i) {
    v1::GpuInventory* gpu = node.mutable_inventory()->add_gpus();
    gpu->set_index(i);
    gpu->set_power_limit_watts(700);
    gpu->set_sm_clock_max_mhz(1980);
    gpu->set_memory_bytes(int64_t{141} << 30);
    gpu->set_nvlinks_active(18);
  }
  return node;
}

std::string BytesOf(const Telemetry& gpus) {
  std::string bytes;
  for (const v1::GpuTelemetry& gpu : gpus) bytes += gpu.SerializeAsString();
  return bytes;
}

TEST(SimulatedTelemetry, FollowsFromSeedNodeAndTimeStep) {
  const SimulatedTelemetry node(1, MakeNode("a"), {}, kStart);
  const std::string now = BytesOf(node.At(kStart, {}));
  EXPECT_EQ(BytesOf(SimulatedTelemetry(1, MakeNode("a"), {}, kStart).At(kStart + 4s, {})), now);
  EXPECT_NE(BytesOf(node.At(kStart + 5s, {})), now);
  EXPECT_NE(BytesOf(SimulatedTelemetry(2, MakeNode("a"), {}, kStart).At(kStart, {})), now);
  EXPECT_NE(BytesOf(SimulatedTelemetry(1, MakeNode("b"), {}, kStart).At(kStart, {})), now);
}

TEST(SimulatedTelemetry, JobsHeatTheirGpus) {
  const SimulatedTelemetry node(1, MakeNode("a"), {}, kStart);
  for (int step = 0; step < 100; ++step) {
    const Telemetry gpus = node.At(kStart + step * 5s, {1});
    ASSERT_THAT(gpus, SizeIs(2));
    const v1::GpuTelemetry& idle = gpus[0];
    const v1::GpuTelemetry& busy = gpus[1];
    EXPECT_GE(idle.temperature_celsius(), 35);
    EXPECT_LE(idle.temperature_celsius(), 45);
    EXPECT_GE(idle.power_watts(), 75);
    EXPECT_LE(idle.power_watts(), 120);
    EXPECT_EQ(idle.utilization(), 0);
    EXPECT_GT(busy.temperature_celsius(), 55);
    EXPECT_GT(busy.power_watts(), 550);
    EXPECT_LE(busy.power_watts(), 700);
    EXPECT_GT(busy.sm_clock_mhz(), 1900);
    EXPECT_LE(busy.sm_clock_mhz(), 1980);
    EXPECT_EQ(busy.utilization(), 1);
    EXPECT_GT(busy.memory_used_bytes(), idle.memory_used_bytes());
    EXPECT_THAT(busy.throttle_reasons(), IsEmpty());
    EXPECT_FALSE(busy.has_last_xid());
  }
}

TEST(SimulatedTelemetry, PlantedFaultsShowFromTheirTimeOn) {
  Fault slow;
  slow.kind = Fault::Kind::kSlowGpu;
  slow.node = "a";
  slow.gpu = 1;
  slow.factor = 0.8;
  slow.since = kStart + 1h;
  Fault elsewhere = slow;
  elsewhere.node = "b";
  elsewhere.gpu = 0;
  Fault failing;
  failing.kind = Fault::Kind::kFailingNode;
  failing.node = "a";
  failing.since = kStart + 2h;
  const SimulatedTelemetry node(1, MakeNode("a"), {slow, elsewhere, failing}, kStart);
  EXPECT_THAT(node.At(kStart, {1})[1].throttle_reasons(), IsEmpty());
  const Telemetry later = node.At(kStart + 90min, {0, 1});
  EXPECT_THAT(later[0].throttle_reasons(), IsEmpty());
  EXPECT_FALSE(later[0].has_last_xid());
  EXPECT_THAT(later[1].throttle_reasons(), ElementsAre("hw_thermal_slowdown"));
  EXPECT_GT(later[1].temperature_celsius(), 80);
  EXPECT_LT(later[1].sm_clock_mhz(), 1650);
  ASSERT_THAT(later[1].throttle_times(), SizeIs(1));
  EXPECT_EQ(later[1].throttle_times(0).reason(), "thermal");
  EXPECT_DOUBLE_EQ(later[1].throttle_times(0).seconds(), 30 * 60);
  EXPECT_EQ(node.At(kStart + 2h, {})[0].last_xid(), 31);
}

TEST(SimulatedTelemetry, ErrorsShowAndGrowOnTheirGpu) {
  Fault memory;
  memory.kind = Fault::Kind::kMemoryErrors;
  memory.node = "a";
  memory.gpu = 0;
  memory.since = kStart + 1h;
  Fault link = memory;
  link.kind = Fault::Kind::kLinkErrors;
  link.gpu = 1;
  const SimulatedTelemetry node(1, MakeNode("a"), {memory, link}, kStart);
  const Telemetry before = node.At(kStart, {});
  EXPECT_EQ(before[0].ecc_uncorrected(), 0);
  EXPECT_EQ(before[0].rows_remapped_uncorrectable(), 0);
  EXPECT_FALSE(before[0].row_remap_pending());
  EXPECT_EQ(before[1].nvlinks_active(), 18);
  const Telemetry begun = node.At(kStart + 1h, {});
  EXPECT_EQ(begun[0].ecc_uncorrected(), 1);
  EXPECT_EQ(begun[0].rows_remapped_uncorrectable(), 1);
  EXPECT_TRUE(begun[0].row_remap_pending());
  EXPECT_EQ(begun[0].last_xid(), 94);
  EXPECT_EQ(begun[0].nvlinks_active(), 18);
  EXPECT_EQ(begun[1].nvlinks_active(), 17);
  EXPECT_EQ(begun[1].ecc_uncorrected(), 0);
  EXPECT_EQ(begun[1].last_xid(), 74);
  const Telemetry later = node.At(kStart + 2h, {});
  EXPECT_GT(later[0].ecc_uncorrected(), begun[0].ecc_uncorrected());
  EXPECT_GT(later[1].nvlink_errors(), begun[1].nvlink_errors());
  EXPECT_GT(later[1].pcie_replays(), begun[1].pcie_replays());
  EXPECT_EQ(later[0].nvlink_errors(), before[0].nvlink_errors());
}

}  // namespace
}  // namespace assay::agent
