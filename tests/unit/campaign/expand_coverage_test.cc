// Which nodes a campaign covers: `absent` and `expect_nodes`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "campaign/expand.h"
#include "tests/unit/campaign/fleet_records.h"
#include "tests/wording.h"

namespace assay::campaign {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Returns connected nodes a and b, and absent nodes d and e.
std::vector<v1::Node> HalfAbsent() {
  std::vector<v1::Node> fleet = {MakeFleetNode("e", '5', 2), MakeFleetNode("b", '2', 2),
                                 MakeFleetNode("d", '4', 2), MakeFleetNode("a", '1', 2)};
  for (const int absent : {0, 2}) {
    fleet[static_cast<size_t>(absent)].set_state(v1::NODE_STATE_DISCONNECTED);
  }
  return fleet;
}

v1::CampaignSpec Gemm(v1::AbsentPolicy absent = v1::ABSENT_POLICY_UNSPECIFIED) {
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  spec.set_absent(absent);
  (*spec.mutable_lines())["expect_nodes"] = 9;
  return spec;
}

void AddRule(v1::CampaignSpec& spec) { spec.add_accept()->set_text("cpu_gemm.tflops > 0 TFLOP/s"); }

// Returns the ids of all nodes that the jobs may run on.
std::set<std::string> NodesOf(const Expansion& expansion) {
  std::set<std::string> ids;
  for (const storage::NewJob& job : expansion.jobs) {
    ids.insert(job.candidate_node_ids.begin(), job.candidate_node_ids.end());
  }
  return ids;
}

TEST(ExpandCoverageTest, Warn_RunsOnConnectedNodes_NamesTheOthers) {
  for (const auto policy : {v1::ABSENT_POLICY_UNSPECIFIED, v1::ABSENT_POLICY_WARN}) {
    v1::CampaignSpec spec = Gemm(policy);
    if (policy == v1::ABSENT_POLICY_WARN) AddRule(spec);
    const auto expansion = ExpandCampaign(spec, HalfAbsent());
    ASSERT_TRUE(expansion.ok()) << expansion.status();
    EXPECT_THAT(expansion->jobs, SizeIs(2));
    EXPECT_EQ(expansion->coverage.node_count(), 4);
    EXPECT_EQ(expansion->coverage.absent_node_count(), 2);
    EXPECT_THAT(expansion->coverage.absent_nodes(), ElementsAre("d", "e"));
  }
}

TEST(ExpandCoverageTest, Fail_IsTheDefaultWithRules_NamesTheAbsentNodes) {
  for (const auto policy : {v1::ABSENT_POLICY_UNSPECIFIED, v1::ABSENT_POLICY_FAIL}) {
    v1::CampaignSpec spec = Gemm(policy);
    if (policy == v1::ABSENT_POLICY_UNSPECIFIED) AddRule(spec);
    const Status status = ExpandCampaign(spec, HalfAbsent()).status();
    EXPECT_EQ(status.code(), Code::kFailedPrecondition);
    EXPECT_EQ(status.reason(), Reason::kNodesAbsent);
    ASSERT_THAT(status.violations(), SizeIs(1));
    EXPECT_EQ(status.violations()[0].field, "nodes");
    EXPECT_EQ(status.violations()[0].line, 2);
    EXPECT_WORDING("campaign/nodes-absent", status.violations()[0].description);
    EXPECT_WORDING("campaign/nodes-absent-hint", status.hint());
  }
  v1::CampaignSpec connected = Gemm(v1::ABSENT_POLICY_FAIL);
  connected.set_node_filter("name = a OR name = b");
  const auto expansion = ExpandCampaign(connected, HalfAbsent());
  ASSERT_TRUE(expansion.ok()) << expansion.status();
  EXPECT_EQ(expansion->coverage.node_count(), 2);
  EXPECT_THAT(expansion->coverage.absent_nodes(), IsEmpty());
}

TEST(ExpandCoverageTest, CordonedNodesAreAbsent_MessagesHaveTheReason) {
  std::vector<v1::Node> fleet = HalfAbsent();
  fleet[1].mutable_cordon()->set_reason("new PSU");
  fleet[2].mutable_cordon();
  const auto expansion = ExpandCampaign(Gemm(), fleet);
  ASSERT_TRUE(expansion.ok()) << expansion.status();
  EXPECT_THAT(NodesOf(*expansion), ElementsAre(fleet[3].description().node_id()));
  EXPECT_THAT(expansion->coverage.absent_nodes(), ElementsAre("b", "d", "e"));
  EXPECT_THAT(NodesOf(*ExpandCampaign(Gemm(v1::ABSENT_POLICY_WAIT), fleet)), SizeIs(4));
  const Status refused = ExpandCampaign(Gemm(v1::ABSENT_POLICY_FAIL), fleet).status();
  EXPECT_EQ(refused.reason(), Reason::kNodesAbsent);
  v1::CampaignSpec only = Gemm();
  only.set_node_filter("name = b");
  const Status none = ExpandCampaign(only, fleet).status();
  EXPECT_WORDING("campaign/nodes-cordoned", refused.violations().at(0).description + "\n" +
                                                refused.hint() + "\n" +
                                                none.violations().at(0).description);
}

// Errors that only the absent nodes cause are not reported as errors of the file.
TEST(ExpandCoverageTest, Fail_ReportsErrorsOfTheFileToo) {
  v1::CampaignSpec spec = Gemm(v1::ABSENT_POLICY_FAIL);
  spec.set_node_filter("name = d OR name = e");
  EXPECT_EQ(ExpandCampaign(spec, HalfAbsent()).status().reason(), Reason::kNodesAbsent);
  spec.set_name("");
  const Status both = ExpandCampaign(spec, HalfAbsent()).status();
  EXPECT_EQ(both.code(), Code::kInvalidArgument);
  EXPECT_EQ(both.reason(), Reason::kInvalidCampaign);
  ASSERT_THAT(both.violations(), SizeIs(2));
  EXPECT_EQ(both.violations()[0].field, "name");
  EXPECT_EQ(both.violations()[1].field, "nodes");
}

TEST(ExpandCoverageTest, Wait_MakesJobsForAbsentNodes) {
  v1::CampaignSpec spec = Gemm(v1::ABSENT_POLICY_WAIT);
  AddRule(spec);
  const auto each = ExpandCampaign(spec, HalfAbsent());
  ASSERT_TRUE(each.ok()) << each.status();
  EXPECT_THAT(each->jobs, SizeIs(4));
  EXPECT_EQ(each->coverage.absent_node_count(), 2);
  for (const auto policy : {v1::PLACEMENT_POLICY_ANY, v1::PLACEMENT_POLICY_PAIRS}) {
    v1::CampaignSpec reduce = MakeSpec("tcp_all_reduce");
    reduce.set_placement(policy);
    reduce.set_absent(v1::ABSENT_POLICY_WAIT);
    const auto all = ExpandCampaign(reduce, HalfAbsent());
    ASSERT_TRUE(all.ok()) << all.status();
    EXPECT_THAT(NodesOf(*all), SizeIs(4));
    reduce.set_absent(v1::ABSENT_POLICY_WARN);
    EXPECT_THAT(NodesOf(*ExpandCampaign(reduce, HalfAbsent())), SizeIs(2));
  }
}

TEST(ExpandCoverageTest, ExpectNodes_CountsConnectedAndAbsentNodes) {
  v1::CampaignSpec spec = Gemm(v1::ABSENT_POLICY_WARN);
  spec.set_expect_nodes(4);
  EXPECT_TRUE(ExpandCampaign(spec, HalfAbsent()).ok());
  for (const int other : {3, 5}) {
    spec.set_expect_nodes(other);
    const Status status = ExpandCampaign(spec, HalfAbsent()).status();
    EXPECT_EQ(status.code(), Code::kFailedPrecondition);
    EXPECT_EQ(status.reason(), Reason::kNodesAbsent);
    ASSERT_THAT(status.violations(), SizeIs(1));
    EXPECT_EQ(status.violations()[0].field, "expect_nodes");
    EXPECT_EQ(status.violations()[0].line, 9);
    EXPECT_EQ(status.hint(), "");  // Another `absent` would not help.
  }
  EXPECT_WORDING("campaign/expect-nodes",
                 ExpandCampaign(spec, HalfAbsent()).status().violations()[0].description);
}

TEST(ExpandCoverageTest, UnknownPolicyAndNegativeNumber_AreRefused) {
  v1::CampaignSpec spec = Gemm(static_cast<v1::AbsentPolicy>(9));
  spec.set_expect_nodes(-1);
  const Status status = ExpandCampaign(spec, ThreeNodes()).status();
  EXPECT_EQ(status.reason(), Reason::kInvalidCampaign);
  EXPECT_THAT(status.violations(), SizeIs(2));
}

TEST(ExpandCoverageTest, ManyAbsentNodes_TwentyAreNamed) {
  std::vector<v1::Node> fleet = {MakeFleetNode("a", '1', 0)};
  for (int i = 0; i < 30; ++i) {
    fleet.push_back(MakeFleetNode("n" + std::to_string(100 - i), '2', 0));
    fleet.back().set_state(v1::NODE_STATE_DISCONNECTED);
  }
  const auto expansion = ExpandCampaign(Gemm(), fleet);
  ASSERT_TRUE(expansion.ok()) << expansion.status();
  EXPECT_EQ(expansion->coverage.node_count(), 31);
  EXPECT_EQ(expansion->coverage.absent_node_count(), 30);
  ASSERT_THAT(expansion->coverage.absent_nodes(), SizeIs(20));
  EXPECT_EQ(expansion->coverage.absent_nodes(0), "n100");
}

// A quarantined node is connected. Its jobs wait.
TEST(ExpandCoverageTest, QuarantinedNode_IsCovered) {
  std::vector<v1::Node> fleet = ThreeNodes();
  fleet[0].set_quarantine("5 jobs in a row failed");
  v1::CampaignSpec spec = Gemm(v1::ABSENT_POLICY_FAIL);
  const auto expansion = ExpandCampaign(spec, fleet);
  ASSERT_TRUE(expansion.ok()) << expansion.status();
  EXPECT_THAT(expansion->jobs, SizeIs(3));
  EXPECT_EQ(expansion->coverage.absent_node_count(), 0);
}

}  // namespace
}  // namespace assay::campaign
