// Cordons, drains, labels and prices, on fake stores.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/unit/coordinator/fleet_fixture.h"

namespace assay::coordinator {
namespace {

using namespace std::chrono_literals;

const Identity kOperator{Role::kOperator, "fleet", "ada", "", ""};

class NodeOperationsTest : public FleetOfTwo {
 protected:
  v1::Node Cordon(const std::string& node, const std::string& reason = "new PSU") {
    v1::CordonNodeRequest request;
    request.set_node(node);
    request.set_reason(reason);
    const auto cordoned = coordinator->CordonNode(request, kOperator);
    EXPECT_TRUE(cordoned.ok()) << cordoned.status();
    return cordoned.ok() ? *cordoned : v1::Node();
  }
  void Uncordon(const std::string& node) {
    ASSERT_TRUE(coordinator->UncordonNode(node, kOperator).ok());
    executor->RunReady();
  }
  Result<v1::Node> Drain(const std::string& node, int seconds) {
    v1::DrainNodeRequest request;
    request.set_node(node);
    request.mutable_deadline()->set_seconds(seconds);
    return coordinator->DrainNode(request, kOperator);
  }
  Status Label(const std::string& key, const std::string& value, Coordinator& at) {
    v1::UpdateNodeRequest request;
    request.set_node("a");
    (*request.mutable_labels())[key] = value;
    request.set_price_per_hour(2.5);
    return at.UpdateNode(request, kOperator).status();
  }
  // Time passes while the agents send heartbeats and run these jobs.
  void Pass(int seconds, const std::vector<std::pair<std::shared_ptr<FakeAgent>, Epochs>>& states) {
    for (int second = 0; second < seconds; ++second) {
      for (const auto& [agent, running] : states) SayState(agent, running);
      executor->Advance(1s);
    }
  }
  // Submits jobs that may run on any node.
  v1::Campaign SubmitAny(int jobs) {
    v1::CampaignSpec spec = MakeSpec("cpu_gemm");
    spec.set_placement(v1::PLACEMENT_POLICY_ANY);
    spec.set_repetitions(jobs);
    return Submit(spec);
  }
  v1::Provenance LastProvenance() {
    const auto listed = results.List("", {}, "");
    EXPECT_TRUE(listed.ok()) << listed.status();
    return listed->items.at(0).case_result().provenance();
  }
};

TEST_F(NodeOperationsTest, CordonedNodeGetsNoJobs_UncordonedOnceAtOnce) {
  const auto a = Attach(a_);
  const v1::Campaign campaign = SubmitAny(2);
  const v1::JobSpec first = AssignedTo(a);
  const v1::Node node = Cordon("a");
  EXPECT_EQ(node.cordon().cordoned_by(), "ada");
  EXPECT_EQ(node.job_ids_size(), 1);
  Complete(a, first);
  Pass(5, {{a, {}}});
  EXPECT_EQ(a->Count(Kind::kAssign), 1);
  const auto waiting = coordinator->GetCampaign(campaign.campaign_id());
  ASSERT_EQ(waiting->waiting_size(), 1);
  EXPECT_EQ(waiting->waiting(0).nodes(0).cordon().reason(), "new PSU");
  Uncordon("a");
  EXPECT_EQ(a->Count(Kind::kAssign), 2);
}

TEST_F(NodeOperationsTest, CordonOutlivesTheCoordinatorAndTheSession) {
  Attach(a_);
  Cordon("a");
  Restart();
  const auto again = Attach(a_);
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  spec.set_absent(v1::ABSENT_POLICY_WAIT);
  Submit(spec);
  Pass(5, {{again, {}}});
  EXPECT_EQ(again->Count(Kind::kAssign), 0);
  EXPECT_EQ(coordinator->GetNode("a")->cordon().cordoned_by(), "ada");
}

TEST_F(NodeOperationsTest, CampaignTreatsACordonedNodeAsAbsent) {
  Attach(a_);
  Attach(b_);
  Cordon("a");
  v1::CreateCampaignRequest request;
  *request.mutable_spec() = MakeSpec("cpu_gemm");
  request.mutable_spec()->set_absent(v1::ABSENT_POLICY_FAIL);
  EXPECT_EQ(coordinator->CreateCampaign(request).status().reason(), Reason::kNodesAbsent);
  request.mutable_spec()->set_absent(v1::ABSENT_POLICY_WARN);
  const auto created = coordinator->CreateCampaign(request);
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_EQ(created->jobs().queued(), 1);
  EXPECT_EQ(created->coverage().absent_nodes(0), "a");
}

TEST_F(NodeOperationsTest, DrainMovesAJobThatRunsAtTheDeadline) {
  const auto a = Attach(a_);
  const v1::Campaign campaign = SubmitAny(1);
  const v1::JobSpec job = AssignedTo(a);
  const auto b = Attach(b_);
  Pass(40, {{a, {EpochOf(job)}}, {b, {}}});  // Until the grace period has ended.
  const auto drained = Drain("a", 60);
  ASSERT_TRUE(drained.ok()) << drained.status();
  EXPECT_TRUE(drained->cordon().has_drain_deadline());
  Pass(50, {{a, {EpochOf(job)}}, {b, {}}});
  EXPECT_EQ(a->Count(Kind::kCancel), 0) << "the deadline has not come";
  Pass(15, {{a, {EpochOf(job)}}, {b, {}}});
  EXPECT_GE(a->Count(Kind::kCancel), 1);
  ASSERT_EQ(b->Count(Kind::kAssign), 0) << "the job was made for the nodes that were there";
  EXPECT_EQ(FailureOf(campaign).reason(), v1::REASON_NODE_DRAINED);
  EXPECT_EQ(FailureOf(campaign).node_id(), "");
  EXPECT_EQ(Campaign(campaign).jobs().queued(), 1);
  EXPECT_EQ(coordinator->GetNode("a")->job_ids_size(), 1) << "its processes still run";
  Pass(5, {{a, {}}, {b, {}}});
  EXPECT_TRUE(coordinator->GetNode("a")->job_ids().empty());
  Uncordon("a");
  Pass(5, {{a, {}}, {b, {}}});
  EXPECT_EQ(a->Count(Kind::kAssign), 2);
  EXPECT_EQ(coordinator->GetNode("a")->quarantine(), "");
}

TEST_F(NodeOperationsTest, DrainedJobGoesToAnotherNode) {
  const auto a = Attach(a_);
  const auto b = Attach(b_);
  SubmitAny(1);
  const v1::JobSpec job = AssignedTo(a);
  Pass(40, {{a, {EpochOf(job)}}, {b, {}}});
  ASSERT_TRUE(Drain("a", 0).ok());
  Pass(5, {{a, {EpochOf(job)}}, {b, {}}});
  EXPECT_EQ(AssignedTo(b).job_id(), job.job_id());
  EXPECT_EQ(AssignedTo(b).epoch(), job.epoch() + 1);
}

// Results that the node measured before it was stopped are still stored.
TEST_F(NodeOperationsTest, LateResultsOfADrainedJobCount) {
  const auto a = Attach(a_);
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  const v1::Campaign campaign = Submit(spec);
  const v1::JobSpec job = AssignedTo(a);
  Pass(40, {{a, {EpochOf(job)}}});
  ASSERT_TRUE(Drain("a", 0).ok());
  Pass(5, {{a, {EpochOf(job)}}});
  ASSERT_EQ(Campaign(campaign).jobs().queued(), 1);
  for (int i = 0; i < job.cases_size(); ++i) SayResult(a, ResultOf(job, i));
  EXPECT_EQ(Campaign(campaign).jobs().succeeded(), 1);
}

TEST_F(NodeOperationsTest, DrainFreesAllNodesOfAGang) {
  const auto a = Attach(a_);
  const auto b = Attach(b_);
  const v1::Campaign campaign = Submit(MakeSpec("tcp_all_reduce"));
  const v1::JobSpec job = AssignedTo(a);
  for (const auto& agent : {a, b}) SayReady(agent, job, "token");
  Pass(40, {{a, {EpochOf(job)}}, {b, {EpochOf(job)}}});
  ASSERT_TRUE(Drain("b", 0).ok());
  Pass(5, {{a, {EpochOf(job)}}, {b, {EpochOf(job)}}});
  EXPECT_EQ(FailureOf(campaign).reason(), v1::REASON_NODE_DRAINED);
  for (const auto& agent : {a, b}) EXPECT_GE(agent->Count(Kind::kCancel), 1);
  for (const char* name : {"a", "b"}) {
    EXPECT_EQ(coordinator->GetNode(name)->job_ids_size(), 1) << "its processes still run";
  }
  Pass(5, {{a, {}}, {b, {}}});
  for (const char* name : {"a", "b"}) {
    EXPECT_TRUE(coordinator->GetNode(name)->job_ids().empty());
  }
}

TEST_F(NodeOperationsTest, CancelledJobOfADrainedNodeStaysCancelled) {
  const auto a = Attach(a_);
  const v1::Campaign campaign = Submit(MakeSpec("cpu_gemm"));
  const v1::JobSpec job = AssignedTo(a);
  Pass(40, {{a, {EpochOf(job)}}});
  ASSERT_TRUE(coordinator->CancelCampaign(campaign.campaign_id()).ok());
  ASSERT_TRUE(Drain("a", 0).ok());
  Pass(5, {{a, {EpochOf(job)}}});
  EXPECT_EQ(Campaign(campaign).jobs().cancelled(), 1);
}

TEST_F(NodeOperationsTest, DeadlineAndReasonAreChecked) {
  Attach(a_);
  EXPECT_EQ(Drain("a", -1).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Drain("a", 7 * 86'400 + 1).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Drain("none", 1).status().code(), Code::kNotFound);
  v1::DrainNodeRequest request;
  request.set_node("a");
  const auto half_an_hour = coordinator->DrainNode(request, kOperator);
  ASSERT_TRUE(half_an_hour.ok()) << half_an_hour.status();
  const v1::Cordon& cordon = half_an_hour->cordon();
  EXPECT_EQ(cordon.drain_deadline().seconds() - cordon.time().seconds(), 1800);
  EXPECT_TRUE(Drain("a", 7 * 86'400).ok());
  const auto again = coordinator->DrainNode(request, kOperator);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->cordon().drain_deadline().seconds() - cordon.time().seconds(), 7 * 86'400);
  for (const std::string& reason : {std::string(1001, 'x'), std::string("two\nlines")}) {
    v1::CordonNodeRequest cordoned;
    cordoned.set_node("a");
    cordoned.set_reason(reason);
    EXPECT_EQ(coordinator->CordonNode(cordoned, kOperator).status().code(), Code::kInvalidArgument);
  }
}

TEST_F(NodeOperationsTest, ResultsHaveTheLabelsAndThePriceOfTheirTime) {
  (*a_.mutable_description()->mutable_labels())["rack"] = "7";
  const auto a = Attach(a_);
  const v1::Campaign campaign = SubmitAny(3);
  Complete(a, AssignedTo(a));
  EXPECT_EQ(LastProvenance().labels().at("rack"), "7");
  EXPECT_FALSE(LastProvenance().has_price_per_hour());
  ASSERT_TRUE(Label("rack", "8", *coordinator).ok());
  EXPECT_EQ(coordinator->GetNode("a")->description().labels().at("rack"), "8");
  Complete(a, AssignedTo(a));
  EXPECT_EQ(LastProvenance().labels().at("rack"), "8");
  EXPECT_EQ(LastProvenance().price_per_hour(), 2.5);
  // They are there from the first result after a restart.
  const v1::JobSpec third = AssignedTo(a);
  Restart();
  const auto again = Attach(a_);
  SayState(again, {EpochOf(third)});
  Complete(again, third);
  EXPECT_EQ(LastProvenance().labels().at("rack"), "8");
  EXPECT_EQ(Campaign(campaign).jobs().succeeded(), 3);
}

TEST_F(NodeOperationsTest, SettingsOfAnotherCoordinatorComeWithThePoll) {
  const auto a = Attach(a_);
  const auto replica = MakeCoordinator({"replica", "127.0.0.1:1"});
  ASSERT_FALSE(replica->leadership().IsLeader());
  ASSERT_TRUE(Label("rack", "8", *replica).ok());
  Pass(4, {{a, {}}});
  SubmitAny(1);
  Complete(a, AssignedTo(a));
  EXPECT_EQ(LastProvenance().labels().at("rack"), "8");
}

TEST_F(NodeOperationsTest, LabelThatDiffersOnlyInCaseIsRefused) {
  (*a_.mutable_description()->mutable_labels())["Rack"] = "7";
  Attach(a_);
  EXPECT_EQ(Label("rack", "8", *coordinator).code(), Code::kInvalidArgument);
  EXPECT_FALSE(coordinator->GetNode("a")->description().has_price_per_hour());
  EXPECT_EQ(Label("c", std::string(300, 'x'), *coordinator).code(), Code::kInvalidArgument);
}

TEST_F(NodeOperationsTest, FleetViewShowsCordons) {
  Attach(a_);
  Attach(b_);
  Cordon("a");
  const auto snapshot = coordinator->fleet_view().Latest();
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_EQ((*snapshot)->summary.cordoned_node_count(), 1);
  EXPECT_EQ((*snapshot)->rows[0]->node.cordon().reason(), "new PSU");
  Uncordon("a");
  executor->Advance(coordinator->options().fleet_period);
  const auto next = coordinator->fleet_view().Latest();
  EXPECT_EQ((*next)->summary.cordoned_node_count(), 0);
  EXPECT_EQ((*next)->rows[0]->changed, (*next)->number) << "a cordon is no noise";
}

}  // namespace
}  // namespace assay::coordinator
