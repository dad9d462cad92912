#include "runner/ceiling_store.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

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
    return kind == "bf16" ? kBf16 : kCopy;
  }

  std::string cublas = "13.0.0";
  bool out_of_memory = false;
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

class CeilingStoreTest : public testing::Test {
 protected:
  // As another process would get them.
  Ceilings FromNewStore(const Work& work, const LocalGpu& gpu = H200()) {
    CeilingStore store(&platform_, folder_.path(), &clock_);
    return store.For(gpu, work);
  }

  // The number of probes that another process makes.
  size_t ProbesOfNewStore(const Work& work, const LocalGpu& gpu = H200()) {
    platform_.measured.clear();
    EXPECT_EQ(FromNewStore(work, gpu).bytes, kCopy);
    return platform_.measured.size();
  }

  TemporaryFolder folder_;
  VirtualClock clock_;
  FakePlatform platform_;
};

TEST_F(CeilingStoreTest, MeasuresEachCeilingThatTheWorkNeedsOnce) {
  CeilingStore store(&platform_, "", &clock_);
  const Ceilings ceilings = store.For(H200(), Gemm(Peak::kBf16));
  EXPECT_EQ(ceilings.bytes, kCopy);
  EXPECT_EQ(ceilings.flops, kBf16);
  EXPECT_FALSE(ceilings.link_bytes);
  EXPECT_FALSE(store.For(H200(), Copy()).flops);
  Work read = Copy();
  read.traffic = Traffic::kRead;
  store.For(H200(), read);
  store.For(H200(), read);
  EXPECT_EQ(platform_.measured, (std::vector<std::string>{"copy", "bf16", "read"}));
  LocalGpu other = H200();
  other.uuid = "";
  other.ordinal = 1;
  store.For(other, Copy());
  store.For(other, Copy());
  EXPECT_EQ(platform_.measured.size(), 4u);
  EXPECT_FALSE(store.For(H200(), Work()).bytes);
}

TEST_F(CeilingStoreTest, MissingProbeIsAskedForOnce) {
  CeilingStore store(&platform_, folder_.path(), &clock_);
  EXPECT_FALSE(store.For(H200(), Gemm(Peak::kFp4)).flops);
  EXPECT_FALSE(store.For(H200(), Gemm(Peak::kFp4)).flops);
  EXPECT_EQ(platform_.measured, (std::vector<std::string>{"copy", "fp4"}));
}

TEST_F(CeilingStoreTest, OutOfMemoryIsTriedAgainLater) {
  CeilingStore store(&platform_, folder_.path(), &clock_);
  platform_.out_of_memory = true;
  EXPECT_FALSE(store.For(H200(), Copy()).bytes);
  platform_.out_of_memory = false;
  EXPECT_EQ(store.For(H200(), Copy()).bytes, kCopy);
}

TEST_F(CeilingStoreTest, OtherProcessesReadWhatOneMeasured) {
  EXPECT_EQ(ProbesOfNewStore(Gemm(Peak::kBf16)), 2u);
  EXPECT_EQ(ProbesOfNewStore(Gemm(Peak::kBf16)), 0u);
  EXPECT_EQ(FromNewStore(Gemm(Peak::kBf16)).flops, kBf16);
  EXPECT_EQ(ProbesOfNewStore(Gemm(Peak::kFp8)), 1u);
  EXPECT_EQ(ProbesOfNewStore(Gemm(Peak::kBf16)), 0u);
}

TEST_F(CeilingStoreTest, CeilingHoldsForOneDayGpuDriverPowerLimitAndLibrary) {
  EXPECT_EQ(ProbesOfNewStore(Copy()), 1u);
  clock_.Advance(CeilingStore::kMaxAge);
  EXPECT_EQ(ProbesOfNewStore(Copy()), 0u);
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(ProbesOfNewStore(Copy()), 1u);
  LocalGpu changed = H200();
  changed.driver_version = "580.159.04";
  EXPECT_EQ(ProbesOfNewStore(Copy(), changed), 1u);
  EXPECT_EQ(ProbesOfNewStore(Copy(), changed), 0u);
  changed.power_limit_watts = 500;
  EXPECT_EQ(ProbesOfNewStore(Copy(), changed), 1u);
  platform_.cublas = "13.1.0";
  EXPECT_EQ(ProbesOfNewStore(Copy(), changed), 1u);
  changed.uuid.back() = '0';
  EXPECT_EQ(ProbesOfNewStore(Copy(), changed), 1u);
  EXPECT_EQ(ProbesOfNewStore(Copy(), changed), 0u);
}

}  // namespace
}  // namespace assay
