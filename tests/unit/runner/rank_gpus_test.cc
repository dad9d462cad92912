// Tests how ranks exchange which GPUs they have, and how the result lists them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/peers.h"
#include "runner/case_result.h"
#include "runner/version_check.h"
#include "tests/unit/gang/gang.h"
#include "tests/wording.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

RankGpu GpuOfRank(int rank, const std::string& model) {
  return {"GPU-" + std::to_string(rank), model};
}

TEST(RankGpus, EveryRankGetsTheGpusOfAllRanksInOrder) {
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

TEST(RankGpus, SeveralModels_AreNamedWithTheirRanks) {
  RunGang(3, [](std::unique_ptr<Peers> peers) {
    const auto gpus =
        GatherGpus(*peers, GpuOfRank(peers->rank(), peers->rank() == 1 ? "H100 PCIe" : "H200 SXM"));
    ASSERT_TRUE(gpus.ok()) << gpus.status();
    const Status status = CheckOneModel(*gpus);
    EXPECT_EQ(status.reason(), Reason::kMixedGpus);
    EXPECT_WORDING("runner/mixed-gpus", status.message());
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

TEST(RankGpus, ListWithAnUnknownGpu_IsLeftOut) {
  v1::CaseResult result;
  AddGpus({{"GPU-0", "H200 SXM"}, {"", ""}}, &result);
  EXPECT_THAT(result.provenance().gpu_uuids(), IsEmpty());
  EXPECT_THAT(result.provenance().gpu_models(), IsEmpty());
  AddGpus({}, &result);
  EXPECT_THAT(result.provenance().gpu_uuids(), IsEmpty());
}

}  // namespace
}  // namespace assay
