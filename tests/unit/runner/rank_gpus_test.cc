// Which GPU each rank has, from the ranks to the result.
#include "runner/rank_gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/peers.h"
#include "runner/case_result.h"
#include "tests/unit/gang/gang.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

RankGpu GpuOfRank(int rank, const std::string& model) {
  return {"GPU-" + std::to_string(rank), model};
}

TEST(RankGpus, EveryRankHearsThoseOfAllInOrder) {
  RunGang(4, [](std::unique_ptr<Peers> peers) {
    const auto gpus = GatherGpus(*peers, GpuOfRank(peers->rank(), "H200 SXM"));
    ASSERT_TRUE(gpus.ok()) << gpus.status();
    EXPECT_TRUE(CheckOneModel(*gpus).ok());
    v1::CaseResult result;
    AddGpus(*gpus, &result);
    EXPECT_THAT(result.provenance().gpu_uuids(), ElementsAre("GPU-0", "GPU-1", "GPU-2", "GPU-3"));
    EXPECT_THAT(result.provenance().gpu_models(), IsEmpty());
  });
}

TEST(RankGpus, SeveralModelsAreNamedWithTheirRanks) {
  RunGang(3, [](std::unique_ptr<Peers> peers) {
    const auto gpus =
        GatherGpus(*peers, GpuOfRank(peers->rank(), peers->rank() == 1 ? "H100 PCIe" : "H200 SXM"));
    ASSERT_TRUE(gpus.ok()) << gpus.status();
    const Status status = CheckOneModel(*gpus);
    EXPECT_EQ(status.reason(), Reason::kMixedGpus);
    EXPECT_THAT(status.message(),
                HasSubstr("the GPU is H200 SXM at ranks 0, 2 and H100 PCIe at rank 1"));
    v1::CaseResult result;
    AddGpus(*gpus, &result);
    EXPECT_THAT(result.provenance().gpu_models(), ElementsAre("H200 SXM", "H100 PCIe", "H200 SXM"));
  });
}

TEST(RankGpus, RanksWithoutGpusHaveNone) {
  RunGang(2, [](std::unique_ptr<Peers> peers) {
    const auto gpus = GatherGpus(*peers, OwnGpu(Resource::kNetwork));
    ASSERT_TRUE(gpus.ok()) << gpus.status();
    EXPECT_TRUE(CheckOneModel(*gpus).ok());
    v1::CaseResult result;
    AddGpus(*gpus, &result);
    EXPECT_THAT(result.provenance().gpu_uuids(), IsEmpty());
    EXPECT_THAT(result.provenance().gpu_models(), IsEmpty());
  });
}

TEST(RankGpus, AListThatLacksOneIsLeftOut) {
  v1::CaseResult result;
  AddGpus({{"GPU-0", "H200 SXM"}, {"", ""}}, &result);
  EXPECT_THAT(result.provenance().gpu_uuids(), IsEmpty());
  EXPECT_THAT(result.provenance().gpu_models(), IsEmpty());
  AddGpus({}, &result);
  EXPECT_THAT(result.provenance().gpu_uuids(), IsEmpty());
}

}  // namespace
}  // namespace assay
