#include "kernels/runner/node_fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/benchmark.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

GpuTrouble Shared() {
  GpuTrouble trouble;
  trouble.other_processes = 1;
  trouble.evidence = "processes on the GPU: 17 4711";
  return trouble;
}

TEST(NodeFault, AWrongResultIsTheCasesFault) {
  const Status wrong(Code::kDataLoss, "VERIFICATION_FAILED", "element 3 is wrong");
  EXPECT_TRUE(NodeFault(wrong, GpuTrouble()).ok());
  EXPECT_TRUE(NodeFault(wrong, Shared()).ok());
  EXPECT_TRUE(NodeFault(Status::Ok(), Shared()).ok());
}

TEST(NodeFault, ALostGpuIsTheNodesWhateverTheErrorWas) {
  GpuTrouble lost;
  lost.lost = true;
  lost.context_broken = true;
  lost.evidence = "NVML: GPU is lost (fell off the bus)";
  const Status fault = NodeFault(Internal("unspecified launch failure", "CUDA_ERROR"), lost);
  EXPECT_EQ(fault.reason(), "GPU_LOST");
  EXPECT_THAT(fault.message(), HasSubstr("fell off the bus"));
  EXPECT_THAT(fault.message(), HasSubstr("unspecified launch failure"));
  // CUDA's word alone is enough.
  const Status told = NodeFault(Unavailable("uncorrectable ECC error", "GPU_LOST"), GpuTrouble());
  EXPECT_EQ(told.reason(), "GPU_LOST");
  EXPECT_EQ(told.message(), "the GPU is lost; the case ended with: uncorrectable ECC error");
}

TEST(NodeFault, MemoryThatOthersHoldIsTheNodes) {
  GpuTrouble crowded = Shared();
  crowded.other_bytes = int64_t{20} << 30;
  crowded.missing_bytes = int64_t{20} << 30;
  const Status busy = NodeFault(OutOfMemory("no memory"), crowded);
  EXPECT_EQ(busy.reason(), "GPU_BUSY");
  EXPECT_THAT(busy.message(), HasSubstr("other processes hold 20480 MiB"));
  EXPECT_EQ(NodeFault(Unavailable("busy", "GPU_UNAVAILABLE"), Shared()).reason(), "GPU_BUSY");
  // Theirs would not have sufficed: the case asked for too much.
  crowded.missing_bytes += 1;
  EXPECT_TRUE(NodeFault(OutOfMemory("no memory"), crowded).ok());
  // Refused elsewhere: the host's memory, or another rank's.
  crowded.missing_bytes = 0;
  EXPECT_TRUE(NodeFault(OutOfMemory("no memory"), crowded).ok());
  // So it is alone on the GPU.
  EXPECT_TRUE(NodeFault(OutOfMemory("no memory"), GpuTrouble()).ok());
}

TEST(NodeFault, ABrokenContextNeedsAnotherProcess) {
  GpuTrouble broken;
  broken.context_broken = true;
  broken.evidence = "CUDA: an illegal memory access was encountered";
  EXPECT_EQ(NodeFault(Internal("illegal access", "CUDA_ERROR"), broken).reason(),
            "GPU_CONTEXT_LOST");
}

// Whatever CUDA finds, in a word.
class FoundGpus : public GpuPlatform {
 public:
  FoundGpus(int count, GpuTrouble trouble) : count_(count), trouble_(std::move(trouble)) {}
  std::vector<LocalGpu> Gpus() override {
    return std::vector<LocalGpu>(static_cast<size_t>(count_));
  }
  void FillVersions(LinkedSoftware*) override {}
  GpuTrouble TroubleOf(int) override { return trouble_; }
  std::unique_ptr<ConditionsSampler> NewSampler(int) override { return nullptr; }
  Result<double> MeasureCeiling(int, const std::string&) override { return Unsupported("none"); }

 private:
  const int count_;
  const GpuTrouble trouble_;
};

TEST(CheckGpusUsable, OnlyGpusThatAreThereAreAtFault) {
  GpuTrouble broken;
  broken.lost = true;
  broken.evidence = "the fabric manager is not running";
  FoundGpus hidden(0, broken);
  EXPECT_EQ(CheckGpusUsable(&hidden).reason(), "GPU_UNUSABLE");
  EXPECT_EQ(CheckGpusUsable(&hidden).message(), broken.evidence);
  FoundGpus none(0, GpuTrouble());
  EXPECT_TRUE(CheckGpusUsable(&none).ok());
  FoundGpus fine(2, broken);
  EXPECT_TRUE(CheckGpusUsable(&fine).ok());
  EXPECT_TRUE(CheckGpusUsable(nullptr).ok());
}

}  // namespace
}  // namespace assay
