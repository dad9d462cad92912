// Tests which nodes get no jobs, and how they come back.
#include "coordinator/core/sessions/quarantine.h"

#include <gtest/gtest.h>

#include "tests/unit/coordinator/fleet_fixture.h"
#include "wire/benchmark_schema.h"

namespace assay::coordinator {
namespace {

class QuarantineTest : public FleetOfTwo {
 protected:
  // Submits `jobs` jobs for any node.
  v1::Campaign SubmitJobs(int jobs) {
    v1::CampaignSpec spec = MakeSpec("cpu_gemm");
    spec.set_placement(v1::PLACEMENT_POLICY_ANY);
    spec.set_repetitions(jobs);
    return Submit(spec);
  }
  // The agent fails each job that it gets.
  int FailAll(const std::shared_ptr<FakeAgent>& agent) {
    int failed = 0;
    while (agent->Count(Kind::kAssign) > failed) {
      SayFinished(agent, AssignedTo(agent), v1::REASON_RUNNER_CRASHED);
      ++failed;
    }
    return failed;
  }
  std::string QuarantineOf(const v1::Node& node) {
    return coordinator->GetNode(node.description().node_id())->quarantine();
  }
  void SayChecked(const std::shared_ptr<FakeAgent>& agent, v1::Reason reason,
                  const std::string& finding = "") {
    v1::AgentMessage message;
    message.mutable_node_checked();
    if (!finding.empty()) message.mutable_node_checked()->add_health()->set_check(finding);
    if (reason != v1::REASON_UNSPECIFIED) {
      *message.mutable_node_checked()->mutable_failure() = MakeFailure(reason, "");
    }
    Say(agent, std::move(message));
  }
};

TEST_F(QuarantineTest, ANodeThatFailsJobAfterJobGetsNoMore) {
  const auto agent = Attach(a_);
  SubmitJobs(40);
  EXPECT_EQ(FailAll(agent), storage::kQuarantineJobs);
  EXPECT_NE(QuarantineOf(a_), "");
}

TEST_F(QuarantineTest, ACheckThatPassesEndsIt) {
  const auto agent = Attach(a_);
  SubmitJobs(40);
  const int failed = FailAll(agent);
  executor->Advance(std::chrono::seconds(4));
  ASSERT_EQ(agent->Count(Kind::kCheckNode), 1);
  SayChecked(agent, v1::REASON_RUNNER_UNUSABLE);
  SayChecked(agent, v1::REASON_UNSPECIFIED);
  SayState(agent, {});
  executor->Advance(std::chrono::seconds(4));
  EXPECT_EQ(agent->Count(Kind::kAssign), failed) << "nobody asked for the second check";
  SayState(agent, {});
  executor->Advance(std::chrono::seconds(4));
  ASSERT_EQ(agent->Count(Kind::kCheckNode), 2);
  SayChecked(agent, v1::REASON_UNSPECIFIED);
  SayState(agent, {});
  executor->Advance(std::chrono::seconds(4));
  EXPECT_EQ(agent->Count(Kind::kAssign), failed + 1);
  EXPECT_EQ(QuarantineOf(a_), "");
}

TEST_F(QuarantineTest, ARestartedAgentIsCheckedAtOnce) {
  const auto agent = Attach(a_);
  SubmitJobs(40);
  FailAll(agent);
  executor->Advance(std::chrono::seconds(4));
  ASSERT_EQ(agent->Count(Kind::kCheckNode), 1);
  SayChecked(agent, v1::REASON_RUNNER_UNUSABLE);
  const auto reconnected = Attach(a_);
  executor->Advance(std::chrono::seconds(3));
  EXPECT_EQ(reconnected->Count(Kind::kCheckNode), 0) << "the same process";
  reconnected->session->OnClosed();
  executor->RunReady();
  v1::Node restarted = a_;
  restarted.mutable_description()->set_agent_instance_id("restarted");
  const auto again = Attach(restarted);
  executor->Advance(std::chrono::seconds(3));
  EXPECT_EQ(again->Count(Kind::kCheckNode), 1);
}

TEST_F(QuarantineTest, TheFindingsOfACheckReplaceThoseOfTheHello) {
  v1::Node sick = a_;
  sick.mutable_description()->add_health()->set_check("gpu_memory");
  const auto agent = Attach(sick);
  const auto checks = [&] {
    std::vector<std::string> names;
    const auto node = coordinator->GetNode(a_.description().node_id());
    for (const auto& finding : node->description().health()) names.push_back(finding.check());
    return names;
  };
  EXPECT_EQ(checks(), std::vector<std::string>{"gpu_memory"});
  SayChecked(agent, v1::REASON_UNSPECIFIED);  // Nobody asked.
  EXPECT_EQ(checks(), std::vector<std::string>{"gpu_memory"});
  SubmitJobs(40);
  FailAll(agent);
  executor->Advance(std::chrono::seconds(4));
  SayChecked(agent, v1::REASON_PREFLIGHT_FAILED, "disk_free");
  EXPECT_EQ(checks(), std::vector<std::string>{"disk_free"});
  executor->Advance(std::chrono::seconds(8));
  SayChecked(agent, v1::REASON_UNSPECIFIED);
  EXPECT_TRUE(checks().empty());
  EXPECT_EQ(coordinator->GetNode(a_.description().node_id())->description().benchmarks_size(),
            a_.description().benchmarks_size());
  agent->session->OnClosed();
  executor->RunReady();
  EXPECT_TRUE(checks().empty());
}

TEST_F(QuarantineTest, ASuccessClearsTheCount) {
  const auto agent = Attach(a_);
  SubmitJobs(40);
  for (int round = 0; round < 3; ++round) {
    for (int i = 1; i < storage::kQuarantineJobs; ++i) {
      SayFinished(agent, AssignedTo(agent), v1::REASON_RUNNER_CRASHED);
    }
    Complete(agent, AssignedTo(agent));
  }
  EXPECT_EQ(QuarantineOf(a_), "");
}

TEST_F(QuarantineTest, FailuresOfAssayCountAgainstNoNode) {
  const auto agent = Attach(a_);
  SubmitJobs(10);
  for (int i = 0; i < 2 * storage::kQuarantineJobs; ++i) {
    SayFinished(agent, AssignedTo(agent), v1::REASON_LEASE_LOST);
  }
  EXPECT_EQ(QuarantineOf(a_), "");
}

TEST_F(QuarantineTest, ASilentNodeGetsNoJob) {
  const auto agent = Attach(a_);
  executor->Advance(std::chrono::seconds(11));
  SubmitJobs(1);
  executor->Advance(std::chrono::seconds(4));
  EXPECT_EQ(agent->Count(Kind::kAssign), 0);
  SayState(agent, {});
  executor->Advance(std::chrono::seconds(4));
  EXPECT_EQ(agent->Count(Kind::kAssign), 1);
}

TEST_F(QuarantineTest, TwoAgentsOfOneNodeAreNamed) {
  const auto first = Attach(a_);
  v1::Node copy = a_;
  copy.mutable_description()->set_agent_instance_id("copy");
  const auto second = Attach(copy);
  ASSERT_TRUE(second->closed);
  EXPECT_EQ(second->closed->reason(), Reason::kDuplicateNode);
  EXPECT_FALSE(first->closed);
  const v1::CoordinatorMessage* told = first->Last(Kind::kDuplicateNode);
  ASSERT_NE(told, nullptr);
  EXPECT_EQ(told->duplicate_node().name(), a_.description().name());
  EXPECT_EQ(told->duplicate_node().address(), second->PeerAddress());
  // The first has left, or died without a word.
  executor->Advance(std::chrono::seconds(11));
  const auto third = Attach(copy);
  EXPECT_FALSE(third->closed);
}

class SchemasTest : public FleetOfTwo {
 protected:
  std::shared_ptr<FakeAgent> Greet(const v1::Node& node, const std::string& hash) {
    const auto agent = Connect(node);
    v1::AgentMessage message;
    *message.mutable_hello()->mutable_node() = node.description();
    message.mutable_hello()->mutable_node()->clear_benchmarks();
    message.mutable_hello()->set_protocol_revision(1);
    message.mutable_hello()->set_schemas_hash(hash);
    Say(agent, std::move(message));
    return agent;
  }
  static v1::Schemas SchemasOf(const v1::Node& node) {
    v1::Schemas schemas;
    *schemas.mutable_benchmarks() = node.description().benchmarks();
    return schemas;
  }
};

TEST_F(SchemasTest, OnlyTheFirstNodeSendsThem) {
  const std::string hash = schema::SchemasHash(SchemasOf(a_));
  const auto a = Greet(a_, hash);
  EXPECT_EQ(a->Last(Kind::kHelloAck), nullptr);
  ASSERT_NE(a->Last(Kind::kSendSchemas), nullptr);
  v1::AgentMessage message;
  *message.mutable_schemas() = SchemasOf(a_);
  Say(a, std::move(message));
  EXPECT_NE(a->Last(Kind::kHelloAck), nullptr);

  const auto b = Greet(b_, hash);
  EXPECT_EQ(b->Last(Kind::kSendSchemas), nullptr);
  EXPECT_NE(b->Last(Kind::kHelloAck), nullptr);
  Submit(MakeSpec("cpu_gemm"));
  EXPECT_EQ(a->Count(Kind::kAssign), 1);
  EXPECT_EQ(b->Count(Kind::kAssign), 1);
}

TEST_F(SchemasTest, OthersThanTheHashNamesAreRefused) {
  const auto agent = Greet(a_, schema::SchemasHash(SchemasOf(a_)));
  v1::AgentMessage message;
  *message.mutable_schemas() = SchemasOf(a_);
  message.mutable_schemas()->mutable_benchmarks(0)->set_version(7);
  Say(agent, std::move(message));
  ASSERT_TRUE(agent->closed);
  EXPECT_EQ(agent->closed->reason(), Reason::kInvalidHello);
}

}  // namespace
}  // namespace assay::coordinator
