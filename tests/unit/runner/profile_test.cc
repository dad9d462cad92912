#include "runner/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cuda/profiling/kernel_name.h"
#include "tests/virtual_clock.h"
#include "tests/wording.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Records the batches that it runs. Each run takes 400 ms of the virtual clock.
class CountingCase : public Case {
 public:
  explicit CountingCase(VirtualClock* clock) : clock_(clock) {}
  Timing HowTimed() const override { return {}; }
  int64_t BatchGranularity() const override { return 8; }
  Result<Verdict> Verify() override { return Verdict(); }
  Result<Verdict> VerifyLast() override { return Verdict(); }
  Status Run(int64_t, int64_t batch, std::vector<double>* seconds) override {
    seconds->push_back(1e-3);
    batches.push_back(batch);
    clock_->Advance(std::chrono::milliseconds(400));
    return Status::Ok();
  }

  std::vector<int64_t> batches;

 private:
  VirtualClock* const clock_;
};

// A platform each of whose sources can be made to fail.
class FakePlatform : public GpuPlatform {
 public:
  std::vector<LocalGpu> Gpus() override { return {}; }
  void FillVersions(LinkedSoftware*) override {}
  GpuTrouble TroubleOf(int) override { return trouble; }
  std::unique_ptr<ConditionsSampler> NewSampler(int) override { return nullptr; }
  Result<double> MeasureCeiling(int, const std::string&) override { return Internal("none"); }
  Result<std::vector<std::string>> KernelNames(int ordinal,
                                               const std::function<Status()>& iterate) override {
    ASSAY_RETURN_IF_ERROR(iterate());
    if (!names_work) return NotFound("no libcupti").WithHint("install it");
    return std::vector<std::string>{"kernel of GPU " + std::to_string(ordinal)};
  }
  Result<CounterReport> HardwareCounters(int, int64_t iterations,
                                         const std::function<Status()>& iterate) override {
    if (!counters_work) return FailedPrecondition("administrators alone");
    for (int pass = 0; pass < 3; ++pass) ASSAY_RETURN_IF_ERROR(iterate());
    CounterReport report;
    report.dram_read_bytes = static_cast<double>(iterations);
    return report;
  }
  Result<CounterReport> MonitorDuring(int, const std::function<Status()>& work) override {
    if (!monitors_work) return NotFound("no monitors");
    ASSAY_RETURN_IF_ERROR(work());
    CounterReport report;
    report.tensor_pipe_active = 0;
    return report;
  }

  GpuTrouble trouble;
  bool names_work = true;
  bool counters_work = true;
  bool monitors_work = true;
};

class ProfileTest : public ::testing::Test {
 protected:
  CounterReport Read() {
    Work work;
    work.bytes = 2e9;
    return ReadCounters(&profiled_, work);
  }

  VirtualClock clock_;
  CountingCase case_{&clock_};
  FakePlatform platform_;
  ProfiledCase profiled_{case_, platform_, 3, 1e-3, clock_};
};

TEST_F(ProfileTest, NamesComeFromTheFewestIterations) {
  const KernelNames found = KernelNamesOf(profiled_);
  EXPECT_THAT(found.names, ElementsAre("kernel of GPU 3"));
  EXPECT_EQ(found.reason, "");
  EXPECT_THAT(case_.batches, ElementsAre(8));
}

TEST_F(ProfileTest, MissingNamesHaveAReason) {
  platform_.names_work = false;
  const KernelNames found = KernelNamesOf(profiled_);
  EXPECT_THAT(found.names, IsEmpty());
  EXPECT_EQ(found.reason, "no libcupti; install it");
}

TEST_F(ProfileTest, HardwareCountersComeFirst) {
  const CounterReport report = Read();
  EXPECT_EQ(report.source, "cupti");
  EXPECT_EQ(report.reason, "");
  // 20 iterations of 1 ms fill the pass of 20 ms; 24 is the next multiple of 8.
  EXPECT_EQ(report.dram_read_bytes, 24);
  EXPECT_THAT(case_.batches, ElementsAre(24, 24, 24));
}

TEST_F(ProfileTest, MonitorsReplaceMissingHardwareCounters) {
  platform_.counters_work = false;
  const CounterReport report = Read();
  EXPECT_EQ(report.source, "nvml_gpm");
  EXPECT_EQ(report.reason, "cupti: administrators alone");
  EXPECT_EQ(report.tensor_pipe_active, 0);
  EXPECT_EQ(report.dram_read_bytes, std::nullopt);
  EXPECT_THAT(case_.batches, ElementsAre(24, 24, 24));  // 400 ms each.
}

TEST_F(ProfileTest, WithoutAnySourceEveryReasonIsGiven) {
  platform_.counters_work = platform_.monitors_work = false;
  const CounterReport report = Read();
  EXPECT_EQ(report.source, "analytic");
  EXPECT_EQ(report.reason,
            "cupti: administrators alone; nvml_gpm: no monitors; the benchmark declares 2e+09 "
            "bytes read and written in all");
  EXPECT_EQ(report.dram_read_bytes, std::nullopt);
  EXPECT_EQ(report.dram_write_bytes, std::nullopt);
  EXPECT_EQ(report.tensor_pipe_active, std::nullopt);
}

TEST_F(ProfileTest, BrokenContextIsBlamedOnProfiling) {
  EXPECT_TRUE(ContextAfter("reading hardware counters", profiled_).ok());
  platform_.trouble.context_broken = true;
  platform_.trouble.evidence = "CUDA: unspecified launch failure";
  const Status broken = ContextAfter("reading hardware counters", profiled_);
  EXPECT_EQ(broken.reason(), Reason::kGpuContextLost);
  EXPECT_WORDING("runner/context-lost", broken.message());
}

TEST(ReadCounters, WithoutAGpuThereIsNoSource) {
  const CounterReport report = ReadCounters(nullptr, Work());
  EXPECT_EQ(report.source, "analytic");
  EXPECT_NE(report.reason, "");
}

TEST(ShortKernelName, OmitsTemplateArgumentsAndParameters) {
  EXPECT_EQ(ShortKernelName("nvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_NNT"),
            "nvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_NNT");
  EXPECT_EQ(ShortKernelName("_Z12empty_kernelPi"), "empty_kernel");
  // void assay::(anonymous namespace)::Copy<float4, (int)4>(float4 const*, float4*, void (*)(int))
  EXPECT_EQ(ShortKernelName("_ZN5assay12_GLOBAL__N_14CopyI6float4Li4EEEvPKT_PS3_PFviE"),
            "assay::Copy<float4, 4>");
  EXPECT_EQ(ShortKernelName("kernel(int)"), "kernel");
  EXPECT_EQ(ShortKernelName(""), "");
  EXPECT_EQ(ShortKernelName(")"), ")");
  const std::string cut = ShortKernelName(std::string(500, 'x'));
  EXPECT_EQ(cut.size(), kMaxKernelName);
  EXPECT_EQ(cut.substr(cut.size() - 4), "x...");
}

}  // namespace
}  // namespace assay
