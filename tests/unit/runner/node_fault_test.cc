#include "runner/node_fault.h"

#include <gtest/gtest.h>

#include <vector>

#include "gang/peers.h"
#include "kernels/benchmark.h"
#include "tests/unit/gang/gang.h"
#include "tests/wording.h"

namespace assay {
namespace {

GpuTrouble Shared() {
  GpuTrouble trouble;
  trouble.other_processes = 1;
  trouble.evidence = "processes on the GPU: 17 4711";
  return trouble;
}

TEST(NodeFault, WrongResult_IsTheCasesFault) {
  const Status wrong(Code::kDataLoss, Reason::kVerificationFailed, "element 3 is wrong");
  EXPECT_TRUE(NodeFault(wrong, GpuTrouble(), 0).ok());
  EXPECT_TRUE(NodeFault(wrong, Shared(), 0).ok());
  EXPECT_TRUE(NodeFault(Status::Ok(), Shared(), 0).ok());
}

TEST(NodeFault, LostGpu_IsTheNodesFaultWhateverTheErrorWas) {
  GpuTrouble lost;
  lost.lost = true;
  lost.context_broken = true;
  lost.evidence = "NVML: GPU is lost (fell off the bus)";
  const Status fault =
      NodeFault(Internal("unspecified launch failure", Reason::kCudaError), lost, 0);
  EXPECT_EQ(fault.reason(), Reason::kGpuLost);
  EXPECT_WORDING("runner/gpu-lost", fault.message());
  // An error of CUDA that says so is enough.
  const Status told =
      NodeFault(Unavailable("uncorrectable ECC error", Reason::kGpuLost), GpuTrouble(), 0);
  EXPECT_EQ(told.reason(), Reason::kGpuLost);
}

TEST(NodeFault, MemoryHeldByOtherProcesses_IsTheNodesFault) {
  GpuTrouble crowded = Shared();
  crowded.other_bytes = int64_t{20} << 30;
  crowded.missing_bytes = int64_t{20} << 30;
  const Status busy = NodeFault(OutOfMemory("no memory"), crowded, 0);
  EXPECT_EQ(busy.reason(), Reason::kGpuBusy);
  EXPECT_WORDING("runner/gpu-busy", busy.message());
  EXPECT_EQ(NodeFault(Unavailable("busy", Reason::kGpuUnavailable), Shared(), 0).reason(),
            Reason::kGpuBusy);
  // The memory of the other processes would not have sufficed: the case asked for too much.
  crowded.missing_bytes += 1;
  EXPECT_TRUE(NodeFault(OutOfMemory("no memory"), crowded, 0).ok());
  // This GPU refused nothing: the host's memory or that of another rank's GPU was too small.
  crowded.missing_bytes = 0;
  EXPECT_TRUE(NodeFault(OutOfMemory("no memory"), crowded, 0).ok());
  // The case is alone on the GPU.
  EXPECT_TRUE(NodeFault(OutOfMemory("no memory"), GpuTrouble(), 0).ok());
}

TEST(NodeFault, BrokenContext_NeedsAnotherProcess) {
  GpuTrouble broken;
  broken.context_broken = true;
  broken.evidence = "CUDA: an illegal memory access was encountered";
  EXPECT_EQ(NodeFault(Internal("illegal access", Reason::kCudaError), broken, 0).reason(),
            Reason::kGpuContextLost);
}

TEST(NodeFault, ErrorOfARank_IsTheFaultOfItsGpuAlone) {
  const Status agreed = Unavailable("uncorrectable ECC error", Reason::kGpuLost).WithRank(1);
  EXPECT_TRUE(NodeFault(agreed, GpuTrouble(), 0).ok());
  EXPECT_TRUE(NodeFault(agreed, Shared(), 2).ok());
  EXPECT_EQ(NodeFault(agreed, GpuTrouble(), 1).reason(), Reason::kGpuLost);
  // Rank 2's GPU is lost too, although rank 1 reported first.
  GpuTrouble lost;
  lost.lost = true;
  EXPECT_EQ(NodeFault(agreed, lost, 2).reason(), Reason::kGpuLost);
}

// Returns the status that each of three ranks ends with if rank 1 has this fault.
std::vector<Status> FaultsInGang(const Status& of_rank_1) {
  std::vector<Status> ends(3);
  RunGang(3, [&](std::unique_ptr<Peers> peers) {
    const int rank = peers->rank();
    ends[static_cast<size_t>(rank)] =
        FaultInGang(peers.get(), rank == 1 ? of_rank_1 : Status::Ok());
  });
  return ends;
}

TEST(NodeFault, LostGpuOfARank_IsALostPeerToTheOthers) {
  const std::vector<Status> ends = FaultsInGang(Unavailable("the GPU is lost", Reason::kGpuLost));
  EXPECT_EQ(ends[1].reason(), Reason::kGpuLost);
  EXPECT_EQ(ends[1].rank(), -1);  // Its agent says which rank it is.
  for (const size_t other : {0, 2}) {
    EXPECT_EQ(ends[other].reason(), Reason::kPeerLost);
    EXPECT_EQ(ends[other].peer().rank, 1);
    EXPECT_TRUE(EndsWithoutResult(ends[other]));
  }
}

TEST(NodeFault, BrokenContextOfARank_EndsTheOthersToo) {
  const std::vector<Status> ends = FaultsInGang(Unavailable("no more", Reason::kGpuContextLost));
  EXPECT_EQ(ends[1].rank(), -1);
  for (const size_t other : {0, 2}) {
    EXPECT_EQ(ends[other].reason(), Reason::kGpuContextLost);
    EXPECT_EQ(ends[other].rank(), 1);
    EXPECT_FALSE(EndsWithoutResult(ends[other]));
  }
  for (const Status& end : FaultsInGang(Status::Ok())) EXPECT_TRUE(end.ok()) << end;
}

// A platform with this many GPUs, all in the same state.
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

TEST(CheckGpusUsable, OnlyGpusThatExist_CanBeUnusable) {
  GpuTrouble broken;
  broken.lost = true;
  broken.evidence = "the fabric manager is not running";
  FoundGpus hidden(0, broken);
  EXPECT_EQ(CheckGpusUsable(&hidden).reason(), Reason::kGpuUnusable);
  FoundGpus none(0, GpuTrouble());
  EXPECT_TRUE(CheckGpusUsable(&none).ok());
  FoundGpus fine(2, broken);
  EXPECT_TRUE(CheckGpusUsable(&fine).ok());
  EXPECT_TRUE(CheckGpusUsable(nullptr).ok());
}

}  // namespace
}  // namespace assay
