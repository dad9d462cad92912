#include "agent/core/telemetry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>

namespace assay::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Calls Take until the read in progress has ended.
Telemetry TakeEnded(TelemetryReader& reader) {
  Telemetry values;
  while (values.empty()) values = reader.Take();
  return values;
}

TEST(ReadTelemetry, HasWhatNvmlReportsAndNothingElse) {
  const auto nvml = Nvml::Open(nullptr, ASSAY_FAKE_NVML);
  ASSERT_TRUE(nvml.ok()) << nvml.status();
  const Telemetry gpus = ReadTelemetry(**nvml, {2, 5});
  ASSERT_THAT(gpus, SizeIs(2));
  const v1::GpuTelemetry& gpu = gpus[0];
  EXPECT_EQ(gpu.index(), 2);
  EXPECT_EQ(gpu.temperature_celsius(), 61);
  EXPECT_DOUBLE_EQ(gpu.power_watts(), 698.5);
  EXPECT_DOUBLE_EQ(gpu.power_limit_watts(), 700);
  EXPECT_EQ(gpu.sm_clock_mhz(), 1830);
  EXPECT_EQ(gpu.memory_clock_mhz(), 3201);
  EXPECT_THAT(gpu.throttle_reasons(), ElementsAre("sw_power_cap"));
  EXPECT_EQ(gpu.memory_used_bytes(), 754'820'096);
  EXPECT_DOUBLE_EQ(gpu.utilization(), 0.97);
  EXPECT_EQ(gpu.ecc_corrected(), 3);
  EXPECT_TRUE(gpu.has_ecc_uncorrected());
  EXPECT_TRUE(gpu.has_row_remap_pending());
  EXPECT_TRUE(gpu.has_rows_remapped_correctable());
  EXPECT_TRUE(gpu.has_rows_remapped_uncorrectable());
  EXPECT_EQ(gpu.pcie_replays(), 7);
  EXPECT_EQ(gpu.nvlinks_active(), 18);
  EXPECT_TRUE(gpu.has_nvlink_errors());
  EXPECT_EQ(gpu.last_xid(), 94);
  EXPECT_TRUE(gpu.has_last_xid_time());
  EXPECT_DOUBLE_EQ(gpu.energy_joules(), 123'456);
  ASSERT_THAT(gpu.throttle_times(), SizeIs(5));
  EXPECT_EQ(gpu.throttle_times(0).reason(), "power");
  EXPECT_DOUBLE_EQ(gpu.throttle_times(0).seconds(), 2.5);
  EXPECT_FALSE(gpus[1].has_utilization());
  EXPECT_FALSE(gpus[1].has_last_xid());
  EXPECT_FALSE(gpus[1].has_pcie_replays());
  EXPECT_FALSE(gpus[1].has_nvlink_errors());
}

TEST(TelemetryReader, TakeReturnsTheReadThatTheCallBeforeBegan) {
  int reads = 0;
  TelemetryReader reader([&] {
    v1::GpuTelemetry gpu;
    gpu.set_index(++reads);
    return Telemetry{gpu};
  });
  EXPECT_EQ(TakeEnded(reader)[0].index(), 1);
  EXPECT_EQ(TakeEnded(reader)[0].index(), 2);
}

TEST(TelemetryReader, HangingDriver_BlocksNobodyAndHidesNothing) {
  std::promise<void> answer;
  std::shared_future<void> answered = answer.get_future().share();
  TelemetryReader reader([answered] {
    answered.wait();
    return Telemetry(1);
  });
  EXPECT_THAT(reader.Take(), IsEmpty());
  EXPECT_THAT(reader.Take(), IsEmpty());
  answer.set_value();
  EXPECT_THAT(TakeEnded(reader), SizeIs(1));
}

}  // namespace
}  // namespace assay::agent
