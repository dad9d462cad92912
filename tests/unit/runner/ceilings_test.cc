// Tests when ceilings of a GPU are measured again and when they are reused.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runner/measurement_cache.h"
#include "tests/temporary_folder.h"
#include "tests/virtual_clock.h"

namespace assay {
namespace {

constexpr double kCopy = 4.25e12;
constexpr double kBf16 = 7.1e14;

class FakePlatform : public GpuPlatform {
 public:
  std::vector<LocalGpu> Gpus() override { return {}; }
  void FillVersions(LinkedSoftware* software) override { software->cublas = cublas; }
  GpuTrouble TroubleOf(int) override { return {}; }
  std::unique_ptr<ConditionsSampler> NewSampler(int) override { return nullptr; }
  Result<double> MeasureCeiling(int, const std::string& kind) override {
    measured.push_back(kind);
    if (kind == "fp4") return Unsupported("no probe for fp4");
    if (out_of_memory) return OutOfMemory("GPU 0 has 3 MiB left");
    return share * (kind == "bf16" ? kBf16 : kCopy);
  }

  std::string cublas = "13.0.0";
  bool out_of_memory = false;
  double share = 1;  // Of the rates, while another program runs.
  std::vector<std::string> measured;
};

LocalGpu H200() {
  LocalGpu gpu;
  gpu.uuid = "GPU-01234567-89ab-cdef-0123-456789abcdef";
  gpu.driver_version = "580.95.05";
  gpu.power_limit_watts = 700;
  return gpu;
}

Work Copy() {
  Work work;
  work.bytes = 1e9;
  return work;
}

Work Gemm(Peak peak) {
  Work work = Copy();
  work.flops = 1e12;
  work.peak = peak;
  return work;
}

class CeilingsForTest : public testing::Test {
 protected:
  // Returns the ceilings as another process would get them.
  Ceilings FromNewCache(const Work& work, const LocalGpu& gpu = H200()) {
    MeasurementCache cache(folder_.path(), &clock_);
    return CeilingsFor(gpu, work, platform_, cache);
  }

  // Returns the number of probes that another process makes.
  size_t ProbesOfNewCache(const Work& work, const LocalGpu& gpu = H200()) {
    platform_.measured.clear();
    EXPECT_EQ(FromNewCache(work, gpu).bytes, kCopy);
    return platform_.measured.size();
  }

  TemporaryFolder folder_;
  VirtualClock clock_;
  FakePlatform platform_;
};

TEST_F(CeilingsForTest, MeasuresEachCeilingThatTheWorkNeedsOnce) {
  MeasurementCache cache("", &clock_);
  const auto measure = [&](const LocalGpu& gpu, const Work& work) {
    return CeilingsFor(gpu, work, platform_, cache);
  };
  const Ceilings ceilings = measure(H200(), Gemm(Peak::kBf16));
  EXPECT_EQ(ceilings.bytes, kCopy);
  EXPECT_EQ(ceilings.flops, kBf16);
  EXPECT_FALSE(ceilings.link_bytes);
  EXPECT_FALSE(measure(H200(), Copy()).flops);
  Work read = Copy();
  read.traffic = Traffic::kRead;
  measure(H200(), read);
  measure(H200(), read);
  EXPECT_EQ(platform_.measured, (std::vector<std::string>{"copy", "bf16", "read"}));
  LocalGpu other = H200();
  other.uuid = "";
  other.ordinal = 1;
  measure(other, Copy());
  measure(other, Copy());
  EXPECT_EQ(platform_.measured.size(), 4u);
  EXPECT_FALSE(measure(H200(), Work()).bytes);
  EXPECT_FALSE(measure(H200(), Gemm(Peak::kFp4)).flops);  // It has no probe.
}

TEST_F(CeilingsForTest, OutOfMemoryIsTriedAgainLater) {
  platform_.out_of_memory = true;
  EXPECT_FALSE(FromNewCache(Copy()).bytes);
  platform_.out_of_memory = false;
  EXPECT_EQ(FromNewCache(Copy()).bytes, kCopy);
}

TEST_F(CeilingsForTest, OtherProcessesReadWhatOneMeasured) {
  EXPECT_EQ(ProbesOfNewCache(Gemm(Peak::kBf16)), 2u);
  EXPECT_EQ(ProbesOfNewCache(Gemm(Peak::kBf16)), 0u);
  EXPECT_EQ(FromNewCache(Gemm(Peak::kBf16)).flops, kBf16);
  EXPECT_EQ(ProbesOfNewCache(Gemm(Peak::kFp8)), 1u);
  EXPECT_EQ(ProbesOfNewCache(Gemm(Peak::kBf16)), 0u);
}

TEST_F(CeilingsForTest, CeilingMeasuredBesideAnotherProgramIsRaisedForAll) {
  platform_.share = 0.8;
  EXPECT_EQ(FromNewCache(Copy()).bytes, 0.8 * kCopy);
  platform_.share = 1;
  const auto raise = [&] {
    MeasurementCache cache(folder_.path(), &clock_);
    return RaiseCeilings(H200(), Gemm(Peak::kBf16), platform_, cache);
  };
  EXPECT_EQ(raise().bytes, kCopy);
  EXPECT_EQ(FromNewCache(Copy()).bytes, kCopy);
  // A lower value replaces nothing, and neither does a failure.
  platform_.share = 0.8;
  EXPECT_EQ(raise().bytes, kCopy);
  platform_.out_of_memory = true;
  EXPECT_EQ(raise().flops, kBf16);
  EXPECT_EQ(FromNewCache(Gemm(Peak::kBf16)).bytes, kCopy);
}

TEST_F(CeilingsForTest, CeilingHoldsForOneDayGpuDriverPowerLimitAndLibrary) {
  EXPECT_EQ(ProbesOfNewCache(Copy()), 1u);
  clock_.Advance(std::chrono::hours(24));
  EXPECT_EQ(ProbesOfNewCache(Copy()), 0u);
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(ProbesOfNewCache(Copy()), 1u);
  LocalGpu changed = H200();
  changed.driver_version = "580.159.04";
  EXPECT_EQ(ProbesOfNewCache(Copy(), changed), 1u);
  EXPECT_EQ(ProbesOfNewCache(Copy(), changed), 0u);
  changed.power_limit_watts = 500;
  EXPECT_EQ(ProbesOfNewCache(Copy(), changed), 1u);
  platform_.cublas = "13.1.0";
  EXPECT_EQ(ProbesOfNewCache(Copy(), changed), 1u);
  changed.uuid.back() = '0';
  EXPECT_EQ(ProbesOfNewCache(Copy(), changed), 1u);
  EXPECT_EQ(ProbesOfNewCache(Copy(), changed), 0u);
}

}  // namespace
}  // namespace assay
