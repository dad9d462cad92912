#include "host/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "tests/wording.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class NvmlTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = Nvml::Open([this](const std::string& problem) { problems_.push_back(problem); },
                             ASSAY_FAKE_NVML);
    ASSERT_TRUE(opened.ok()) << opened.status();
    nvml_ = std::move(*opened);
  }

  std::vector<std::string> problems_;
  std::unique_ptr<Nvml> nvml_;
};

// Opens an NVML whose initialisation returns `code`.
Status OpenWithAnswer(const char* code) {
  setenv("FAKE_NVML_INIT", code, 1);
  const Status status = Nvml::Open(nullptr, ASSAY_FAKE_NVML).status();
  unsetenv("FAKE_NVML_INIT");
  return status;
}

TEST(NvmlOpen, FailedInitialisation_IsUnusableExceptWithoutADriver) {
  for (const char* code : {"4", "15", "18", "999"}) {
    EXPECT_EQ(OpenWithAnswer(code).reason(), Reason::kNvmlUnusable) << code;
  }
  EXPECT_EQ(OpenWithAnswer("9").reason(), Reason::kNoNvidiaDriver);
}

TEST_F(NvmlTest, DescribesDriverAndGpus) {
  EXPECT_EQ(nvml_->DriverVersion(), "580.95.05");
  EXPECT_EQ(nvml_->CudaDriverVersion(), "13.0");
  ASSERT_EQ(nvml_->GpuCount(), 8);
  const NvmlGpu gpu = nvml_->Describe(3);
  EXPECT_EQ(gpu.uuid, "GPU-00000000-0000-4000-8000-000000000003");
  EXPECT_EQ(gpu.name, "NVIDIA H200");
  EXPECT_EQ(gpu.pci_bus_id, "00000000:F3:00.0");
  EXPECT_EQ(gpu.memory_bytes, 150'754'820'096);
  EXPECT_EQ(gpu.compute_capability, "9.0");
  EXPECT_EQ(gpu.pcie_generation_max, 5);
  EXPECT_EQ(gpu.pcie_width, 16);
  EXPECT_EQ(gpu.ecc_enabled, true);
  EXPECT_EQ(gpu.mig_enabled, false);
  EXPECT_DOUBLE_EQ(gpu.power_limit_watts.value(), 700);
  EXPECT_EQ(gpu.sm_clock_max_mhz, 1980);
  EXPECT_EQ(gpu.nvlinks_active, 18);
  EXPECT_DOUBLE_EQ(gpu.slowdown_celsius.value(), 87);
  EXPECT_EQ(nvml_->FindByUuid(gpu.uuid), 3);
  EXPECT_EQ(nvml_->FindByUuid("GPU-none"), std::nullopt);
}

TEST_F(NvmlTest, SwitchesConnectEveryPair) {
  const std::vector<NvmlLink> links = nvml_->Links();
  ASSERT_THAT(links, SizeIs(28));
  for (const NvmlLink& link : links) EXPECT_EQ(link.kind, "NV18");
  EXPECT_EQ(nvml_->Describe(2).nvlinks_to_switch, 18);
  EXPECT_EQ(nvml_->Describe(2).nvlink_bytes_per_second, 26'562'000'000);
}

TEST_F(NvmlTest, PairWithoutPeerAccess_HasAReason) {
  EXPECT_EQ(nvml_->WhyNoPeerAccess(0, 1), "");
  EXPECT_EQ(nvml_->WhyNoPeerAccess(7, 0), "the chipset does not support it");
  EXPECT_EQ(nvml_->WhyNoPeerAccess(0, 0), "");
  EXPECT_EQ(nvml_->WhyNoPeerAccess(0, 99), "");
  EXPECT_EQ(nvml_->Links().at(6).no_peer_access, "the chipset does not support it");
}

TEST_F(NvmlTest, SamplesAreInTheUnitsOfTheirNames) {
  const NvmlSample sample = nvml_->Sample(0);
  EXPECT_DOUBLE_EQ(sample.sm_clock_mhz.value(), 1830);
  EXPECT_DOUBLE_EQ(sample.power_watts.value(), 698.5);
  EXPECT_DOUBLE_EQ(sample.temperature_celsius.value(), 61);
  EXPECT_DOUBLE_EQ(sample.energy_joules.value(), 123'456);
  EXPECT_THAT(sample.throttle_reasons.value(), ElementsAre("sw_power_cap"));
  EXPECT_DOUBLE_EQ(nvml_->ThrottleTimes(0).at(0).seconds, 2.5);
  const auto processes = nvml_->ComputeProcesses(7).value();
  ASSERT_THAT(processes, SizeIs(2));
  EXPECT_EQ(processes[0].pid, 4242U);
  EXPECT_EQ(processes[0].memory_bytes, 1 << 20);
  EXPECT_EQ(processes[1].memory_bytes, std::nullopt);
}

TEST_F(NvmlTest, FailedCall_IsAbsentAndReportedOnce) {
  EXPECT_EQ(nvml_->Errors(0).row_remap_failed, std::nullopt);
  EXPECT_EQ(nvml_->Errors(0).ecc_uncorrected, 0);
  EXPECT_EQ(nvml_->Errors(1).row_remap_failed, false);
  ASSERT_THAT(problems_, SizeIs(1));
  EXPECT_WORDING("host/nvml-call-failed", problems_[0]);
}

TEST_F(NvmlTest, LoadHasFractionsAndBytes) {
  const NvmlLoad load = nvml_->Load(0);
  EXPECT_DOUBLE_EQ(load.power_limit_watts.value(), 700);
  EXPECT_EQ(load.memory_used_bytes, 754'820'096);
  EXPECT_DOUBLE_EQ(load.utilization.value(), 0.97);
  EXPECT_EQ(nvml_->Load(5).utilization, std::nullopt);
  EXPECT_EQ(nvml_->Load(5).memory_used_bytes, 754'820'096);
  EXPECT_EQ(nvml_->Load(99).power_limit_watts, std::nullopt);
}

TEST_F(NvmlTest, CorrectedErrorsAreApartFromUncorrectedOnes) {
  EXPECT_EQ(nvml_->Errors(1).ecc_corrected, 3);
  EXPECT_EQ(nvml_->Errors(1).ecc_uncorrected, 0);
}

TEST_F(NvmlTest, RemappedRowsAndReplaysAreCounted) {
  EXPECT_EQ(nvml_->Errors(3).rows_remapped_correctable, 2);
  EXPECT_EQ(nvml_->Errors(3).rows_remapped_uncorrectable, 1);
  EXPECT_EQ(nvml_->Errors(3).pcie_replays, 7);
  EXPECT_EQ(nvml_->Errors(0).rows_remapped_correctable, std::nullopt);
  EXPECT_EQ(nvml_->Errors(5).pcie_replays, std::nullopt);
}

// The fake's counters grow with every call.
TEST_F(NvmlTest, LinkHealth_IsNotReadAtEveryCall) {
  const NvmlLinkHealth health = nvml_->LinkHealth(1);
  EXPECT_EQ(health.active, 18);
  ASSERT_TRUE(health.errors.has_value());
  EXPECT_EQ(nvml_->LinkHealth(1).errors, health.errors);
  EXPECT_NE(nvml_->LinkHealth(2).errors, health.errors);
  EXPECT_EQ(nvml_->LinkHealth(5).active, 18);
  EXPECT_EQ(nvml_->LinkHealth(5).errors, std::nullopt);
  EXPECT_EQ(nvml_->LinkHealth(99).active, std::nullopt);
}

TEST_F(NvmlTest, LastXid_IsTheNewestOfItsGpu) {
  EXPECT_FALSE(nvml_->LastXid(0).has_value());  // Reads the events of all GPUs.
  ASSERT_TRUE(nvml_->LastXid(2).has_value());
  EXPECT_EQ(nvml_->LastXid(2)->xid, 94);
  EXPECT_GT(nvml_->LastXid(2)->time, WallTime());
  EXPECT_FALSE(nvml_->LastXid(5).has_value());
  EXPECT_FALSE(nvml_->LastXid(99).has_value());
  // Numbers of selected GPUs are not the library's.
  ASSERT_TRUE(nvml_->Select({"2"}).ok());
  EXPECT_EQ(nvml_->LastXid(0)->xid, 94);
}

TEST_F(NvmlTest, OnlyAGpuOffTheBusIsLost) {
  EXPECT_EQ(nvml_->WhyLost(0), "");
  EXPECT_NE(nvml_->WhyLost(6), "");
  EXPECT_EQ(nvml_->WhyLost(99), "");
}

TEST_F(NvmlTest, UnknownGpu_HasNoFacts) {
  EXPECT_EQ(nvml_->Describe(99).uuid, "");
  EXPECT_EQ(nvml_->Describe(-1).memory_bytes, std::nullopt);
  EXPECT_EQ(nvml_->Sample(99).power_watts, std::nullopt);
}

TEST_F(NvmlTest, SelectedGpus_AreRenumbered) {
  ASSERT_TRUE(nvml_->Select({"6", "GPU-00000000-0000-4000-8000-000000000003"}).ok());
  ASSERT_EQ(nvml_->GpuCount(), 2);
  EXPECT_EQ(nvml_->Describe(1).uuid, "GPU-00000000-0000-4000-8000-000000000003");
  EXPECT_EQ(nvml_->Describe(2).uuid, "");
  EXPECT_EQ(nvml_->FindByUuid("GPU-00000000-0000-4000-8000-000000000003"), 1);
  EXPECT_EQ(nvml_->FindByUuid("GPU-00000000-0000-4000-8000-000000000000"), std::nullopt);
  EXPECT_NE(nvml_->WhyLost(0), "");
  EXPECT_THAT(nvml_->Links(), SizeIs(1));
}

TEST_F(NvmlTest, Select_RefusesUnknownAndRepeatedGpus) {
  const Status missing = nvml_->Select({"0", "8"});
  EXPECT_EQ(missing.reason(), Reason::kNoSuchGpu);
  EXPECT_WORDING("host/no-such-gpu", missing.message());
  EXPECT_EQ(nvml_->Select({"0x1"}).reason(), Reason::kNoSuchGpu);
  EXPECT_EQ(nvml_->Select({"2", "2"}).code(), Code::kInvalidArgument);
  EXPECT_EQ(nvml_->GpuCount(), 8);
}

TEST(NvmlOpen, MissingLibrary_MeansNoDriver) {
  const auto opened = Nvml::Open(nullptr, "/nonexistent/libnvidia-ml.so.1");
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().reason(), Reason::kNoNvidiaDriver);
}

TEST(ThrottleReasonNames, DecodesEveryBit) {
  EXPECT_THAT(ThrottleReasonNames(0), IsEmpty());
  EXPECT_THAT(ThrottleReasonNames(0x1 | 0x8 | 0x40 | (1 << 17)),
              ElementsAre("gpu_idle", "hw_slowdown", "hw_thermal_slowdown", "bit_17"));
  EXPECT_FALSE(IsHarmfulThrottleReason("gpu_idle"));
  EXPECT_TRUE(IsHarmfulThrottleReason("hw_thermal_slowdown"));
}

TEST_F(NvmlTest, UtilizationIsTheMeanDuringTheWork) {
  bool worked = false;
  const auto during = nvml_->UtilizationDuring(1, [&] {
    worked = true;
    return Status::Ok();
  });
  ASSERT_TRUE(during.ok()) << during.status();
  EXPECT_TRUE(worked);
  EXPECT_DOUBLE_EQ(during->tensor_active.value(), 0.875);
  EXPECT_DOUBLE_EQ(during->sm_active.value(), 0.5);
  EXPECT_DOUBLE_EQ(during->dram_utilization.value(), 0.5);
  EXPECT_EQ(during->occupancy, std::nullopt);
}

TEST_F(NvmlTest, WithoutMonitors_UtilizationIsAnError) {
  for (const int gpu : {6, 7, 9}) {  // No samples, no monitors, no GPU.
    const auto during = nvml_->UtilizationDuring(gpu, [] { return Status::Ok(); });
    EXPECT_EQ(during.status().reason(), Reason::kNoGpm) << gpu;
  }
}

TEST_F(NvmlTest, UtilizationReturnsTheErrorOfTheWork) {
  const auto failing = nvml_->UtilizationDuring(1, [] { return NotFound("planted"); });
  EXPECT_EQ(failing.status().reason(), Reason::kNotFound);
}

}  // namespace
}  // namespace assay
