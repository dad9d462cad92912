// Tests the handling of cases that no matching node can run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "campaign/expand.h"
#include "tests/unit/campaign/fleet_records.h"
#include "tests/wording.h"

namespace assay::campaign {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<v1::Node> FourGpus() { return {MakeFleetNode("a", '1', 4)}; }

v1::Node Disconnected(v1::Node node) {
  node.set_state(v1::NODE_STATE_DISCONNECTED);
  return node;
}

// An all-reduce of 2, 4 and 8 ranks in two sizes, on line 4.
v1::CampaignSpec Sweep(const std::string& nodes = "1") {
  v1::CampaignSpec spec = MakeSpec("all_reduce");
  spec.set_unplaceable(v1::UNPLACEABLE_SKIP);
  AddAxis(*spec.mutable_benchmarks(0), "ranks", {"2", "4", "8"});
  AddAxis(*spec.mutable_benchmarks(0), "bytes", {"8", "1MiB"});
  AddAxis(*spec.mutable_benchmarks(0), "nodes", {nodes});
  return spec;
}

void AddRule(v1::CampaignSpec& spec, const std::string& text) { spec.add_accept()->set_text(text); }

TEST(ExpandUnplaceableTest, Default_RefusesUnplaceableCases) {
  v1::CampaignSpec spec = Sweep();
  for (const v1::Unplaceable word : {v1::UNPLACEABLE_UNSPECIFIED, v1::UNPLACEABLE_REFUSE}) {
    spec.set_unplaceable(word);
    const auto expansion = ExpandCampaign(spec, FourGpus());
    ASSERT_FALSE(expansion.ok());
    ASSERT_THAT(expansion.status().violations(), SizeIs(1));
    EXPECT_EQ(expansion.status().violations()[0].field, "benchmarks[0].ranks");
    EXPECT_WORDING("campaign/unplaceable-ranks", expansion.status().violations()[0].description);
  }
}

TEST(ExpandUnplaceableTest, Skip_LeavesOutGangsThatAreTooLarge) {
  const auto expansion = ExpandCampaign(Sweep(), FourGpus());
  ASSERT_TRUE(expansion.ok()) << expansion.status();
  ASSERT_THAT(expansion->jobs, SizeIs(2));
  EXPECT_EQ(expansion->jobs[1].world_size, 4);
  EXPECT_EQ(expansion->case_runs, 4);
  ASSERT_THAT(expansion->left_out, SizeIs(1));
  const v1::LeftOut& left_out = expansion->left_out[0];
  EXPECT_EQ(left_out.benchmark_index(), 0);
  EXPECT_EQ(left_out.benchmark(), "all_reduce");
  EXPECT_EQ(left_out.line(), 4);
  EXPECT_EQ(left_out.ranks(), 8);
  EXPECT_EQ(left_out.nodes(), 1);
  EXPECT_EQ(left_out.case_count(), 2);
  EXPECT_WORDING("campaign/unplaceable-ranks", left_out.reason());
}

TEST(ExpandUnplaceableTest, Skip_LeavesOutCasesThatNeedMoreNodes) {
  v1::CampaignSpec spec = Sweep("2");
  *spec.add_benchmarks() = MakeSpec("tcp_all_reduce").benchmarks(0);
  *spec.add_benchmarks() = MakeSpec("cpu_gemm").benchmarks(0);
  const auto alone = ExpandCampaign(spec, FourGpus());
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_THAT(alone->jobs, SizeIs(1));
  ASSERT_THAT(alone->left_out, SizeIs(4));
  EXPECT_WORDING("campaign/unplaceable-nodes", alone->left_out[0].reason());
  EXPECT_WORDING("campaign/unplaceable-network", alone->left_out[3].reason());
  EXPECT_EQ(alone->left_out[3].benchmark_index(), 1);
  // With two nodes of two GPUs each, only the eight ranks are too many.
  const auto two = ExpandCampaign(spec, {MakeFleetNode("a", '1', 2), MakeFleetNode("b", '2', 2)});
  ASSERT_TRUE(two.ok()) << two.status();
  ASSERT_THAT(two->left_out, SizeIs(1));
  EXPECT_WORDING("campaign/unplaceable-gpus-of-each", two->left_out[0].reason());
}

TEST(ExpandUnplaceableTest, Skip_EntryOverridesCampaign) {
  v1::CampaignSpec spec = Sweep();
  spec.mutable_benchmarks(0)->set_unplaceable(v1::UNPLACEABLE_REFUSE);
  EXPECT_FALSE(ExpandCampaign(spec, FourGpus()).ok());
  spec.set_unplaceable(v1::UNPLACEABLE_REFUSE);
  spec.mutable_benchmarks(0)->set_unplaceable(v1::UNPLACEABLE_SKIP);
  EXPECT_TRUE(ExpandCampaign(spec, FourGpus()).ok());
}

TEST(ExpandUnplaceableTest, Skip_EmptyCampaignIsRefused) {
  const auto expansion = ExpandCampaign(Sweep("2"), FourGpus());
  ASSERT_FALSE(expansion.ok());
  ASSERT_THAT(expansion.status().violations(), SizeIs(3));
  EXPECT_EQ(expansion.status().violations()[2].field, "benchmarks[0].nodes");
  EXPECT_EQ(expansion.status().violations()[2].line, 4);
}

TEST(ExpandUnplaceableTest, Skip_KeepsCasesForDisconnectedNodes) {
  std::vector<v1::Node> fleet = FourGpus();
  fleet.push_back(Disconnected(MakeFleetNode("b", '2', 8)));
  const auto expansion = ExpandCampaign(Sweep(), fleet);
  ASSERT_FALSE(expansion.ok());
  ASSERT_THAT(expansion.status().violations(), SizeIs(1));
  EXPECT_WORDING("campaign/unplaceable-disconnected",
                 expansion.status().violations()[0].description);
  // A disconnected node changes nothing if it has too few GPUs or does not match.
  fleet[1] = Disconnected(MakeFleetNode("b", '2', 4));
  EXPECT_TRUE(ExpandCampaign(Sweep(), fleet).ok());
  fleet[1] = Disconnected(MakeFleetNode("b", '2', 8));
  v1::CampaignSpec one = Sweep();
  one.set_node_filter("name = a");
  EXPECT_TRUE(ExpandCampaign(one, fleet).ok());
}

TEST(ExpandUnplaceableTest, Skip_StillRefusesWrongParameters) {
  v1::CampaignSpec uneven = Sweep("2");
  AddAxis(*uneven.add_benchmarks(), "ranks", {"3"});
  uneven.mutable_benchmarks(1)->set_benchmark("all_reduce");
  AddAxis(*uneven.mutable_benchmarks(1), "nodes", {"2"});
  v1::CampaignSpec listed = Sweep();
  for (const int index : {0, 1, 2, 3}) listed.mutable_benchmarks(0)->add_gpu_indices(index);
  v1::CampaignSpec unknown = Sweep();
  unknown.mutable_benchmarks(0)->add_gpu_indices(9);
  v1::CampaignSpec pairs = Sweep();
  pairs.set_placement(v1::PLACEMENT_POLICY_PAIRS);
  const std::vector<std::pair<v1::CampaignSpec, std::string>> wrong = {
      {uneven, "benchmarks[1].nodes"},
      {listed, "benchmarks[0].ranks"},
      {unknown, "benchmarks[0].gpus"},
      {pairs, "benchmarks[0].nodes"}};
  for (const auto& [spec, field] : wrong) {
    const auto expansion = ExpandCampaign(spec, FourGpus());
    ASSERT_FALSE(expansion.ok()) << field;
    for (const Violation& violation : expansion.status().violations()) {
      EXPECT_EQ(violation.field, field) << violation.description;
    }
  }
}

TEST(ExpandUnplaceableTest, Skip_RefusesRuleThatCoversOnlyLeftOutCases) {
  v1::CampaignSpec spec = Sweep();
  AddRule(spec, "all_reduce[bytes=8].bus_bandwidth >= 1 GB/s");
  EXPECT_TRUE(ExpandCampaign(spec, FourGpus()).ok());
  AddRule(spec, "all_reduce[ranks=8].bus_bandwidth >= 1 GB/s");
  const auto expansion = ExpandCampaign(spec, FourGpus());
  ASSERT_FALSE(expansion.ok());
  ASSERT_THAT(expansion.status().violations(), SizeIs(1));
  EXPECT_EQ(expansion.status().violations()[0].field, "accept[1]");
  EXPECT_WORDING("campaign/accept-rule-of-left-out-cases",
                 expansion.status().violations()[0].description);
  EXPECT_TRUE(ExpandCampaign(spec, {MakeFleetNode("a", '1', 8)}).ok());
}

TEST(ExpandUnplaceableTest, Skip_LeavesOutNothingIfAllFits) {
  const auto expansion = ExpandCampaign(Sweep(), ThreeNodes());
  ASSERT_TRUE(expansion.ok()) << expansion.status();
  EXPECT_THAT(expansion->left_out, IsEmpty());
}

}  // namespace
}  // namespace assay::campaign
