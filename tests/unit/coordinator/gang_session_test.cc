// Gangs as the coordinator sees them: ranks that become ready, start, fail and leave.
#include <gtest/gtest.h>

#include <algorithm>

#include "coordinator/core/sessions/session.h"
#include "tests/unit/coordinator/fleet_fixture.h"
#include "tests/wording.h"

namespace assay::coordinator {
namespace {

// A gang of two ranks, one on each of the nodes a and b.
class GangOfTwo : public FleetOfTwo {
 protected:
  void Begin() {
    AttachBoth();
    campaign = Submit(MakeSpec("tcp_all_reduce"));
    job = AssignedTo(a);
    ASSERT_EQ(AssignedTo(b).job_id(), job.job_id());
  }
  void AttachBoth() {
    a = Attach(a_);
    b = Attach(b_);
  }
  // Both nodes are ready, and the gang starts.
  void Start() {
    Begin();
    for (const auto& agent : {a, b}) SayReady(agent, job, "token");
  }
  // A new coordinator, with which both agents are in session and speak of the job.
  void RestartWithBoth() {
    Restart();
    AttachBoth();
    SayStates();
  }
  void SayStates() {
    for (const auto& agent : {a, b}) SayState(agent, {EpochOf(job)});
  }
  // Time passes while both agents speak of the job.
  void Pass(int seconds) {
    for (int second = 0; second < seconds; second += 5) {
      executor->Advance(std::chrono::seconds(5));
      SayStates();
    }
  }
  // The agent reports that its rank lost the other.
  void SayLostPeer(const std::shared_ptr<FakeAgent>& agent, v1::Reason reason) {
    v1::Failure failure = MakeFailure(reason, "the rank's own words");
    failure.set_rank(agent == a ? 0 : 1);
    failure.mutable_peer_loss()->set_rank(failure.rank());
    failure.mutable_peer_loss()->set_lost_rank(1 - failure.rank());
    SayFailed(agent, job, failure);
  }
  v1::Failure Failure() { return FailureOf(campaign); }
  bool Running() { return Campaign(campaign).jobs().running() == 1; }

  std::shared_ptr<FakeAgent> a;
  std::shared_ptr<FakeAgent> b;
  v1::Campaign campaign;
  v1::JobSpec job;
};

TEST_F(GangOfTwo, StartsWhenAllAreReady) {
  Begin();
  EXPECT_EQ(job.node_names(1), "b");
  SayReady(a, job, "token");
  EXPECT_EQ(a->Count(Kind::kGangGo), 0);
  SayReady(b, job, "not rank 0's");
  ASSERT_EQ(a->Count(Kind::kGangGo), 1);
  ASSERT_EQ(b->Count(Kind::kGangGo), 1);
  EXPECT_EQ(b->Last(Kind::kGangGo)->gang_go().rendezvous_token(), "token");
  SayFinished(b, job);
  EXPECT_TRUE(Running());
  Complete(a, job);
  EXPECT_EQ(Campaign(campaign).jobs().succeeded(), 1);
}

using GangPlacementTest = FleetOfTwo;

TEST_F(GangPlacementTest, RanksOfAGpuGangAreNumberedNodeByNode) {
  const auto a = Attach(MakeFleetNode("a", '1', 2));
  const auto b = Attach(MakeFleetNode("b", '2', 2));
  v1::CampaignSpec spec = MakeSpec("all_reduce");
  AddAxis(*spec.mutable_benchmarks(0), "ranks", {"4"});
  AddAxis(*spec.mutable_benchmarks(0), "nodes", {"2"});
  (*spec.mutable_nccl())["NCCL_ALGO"] = "Ring";
  Submit(spec);
  const v1::JobSpec second = AssignedTo(b);
  EXPECT_EQ(AssignedTo(a).job_id(), second.job_id());
  EXPECT_EQ(AssignedTo(a).ranks(1).rank(), 1);
  ASSERT_EQ(second.ranks_size(), 2);
  EXPECT_EQ(second.world_size(), 4);
  EXPECT_EQ(second.ranks(0).rank(), 2);
  EXPECT_EQ(second.ranks(0).gpu_index(), 0);
  EXPECT_EQ(second.ranks(1).rank(), 3);
  EXPECT_EQ(second.ranks(1).gpu_index(), 1);
  EXPECT_EQ(second.nccl().at("NCCL_ALGO"), "Ring");
}

TEST_F(GangPlacementTest, MixedDriversFailTheGangBeforeTheStart) {
  v1::Node other = MakeFleetNode("a", '1', 2);
  other.mutable_description()->mutable_inventory()->set_driver_version("570.1");
  const auto a = Attach(other);
  const auto b = Attach(MakeFleetNode("b", '2', 2));
  const auto c = Attach(MakeFleetNode("c", '3', 2));
  Attach(MakeFleetNode("d", '4', 2));
  v1::CampaignSpec spec = MakeSpec("all_reduce");
  spec.set_retries(3);
  AddAxis(*spec.mutable_benchmarks(0), "nodes", {"2"});
  const v1::Campaign campaign = Submit(spec);
  EXPECT_EQ(a->Count(Kind::kAssign), 0);
  EXPECT_EQ(b->Count(Kind::kAssign), 0);
  EXPECT_EQ(c->Count(Kind::kAssign), 1);
  ASSERT_EQ(Campaign(campaign).jobs().failed(), 1);
  const v1::Job job = jobs.ListJobs(campaign.campaign_id(), {})->items[0];
  EXPECT_EQ(job.failure().failure_class(), v1::FAILURE_CLASS_USER);
  EXPECT_EQ(job.failure().reason(), v1::REASON_VERSION_MISMATCH);
  EXPECT_WORDING("coordinator/gang-version-mismatch", job.failure().message());
  EXPECT_EQ(job.attempts(), 1);
}

TEST_F(GangPlacementTest, NodesBehindTwoNatsFailTheGangBeforeTheStart) {
  const auto behind = [&](v1::Node node, const std::string& peer) {
    node.mutable_description()->set_advertise_address("10.0.0.5");
    const auto agent = Connect(node);
    agent->address = peer;
    v1::AgentMessage hello;
    *hello.mutable_hello()->mutable_node() = node.description();
    hello.mutable_hello()->set_protocol_revision(1);
    Say(agent, std::move(hello));
    return agent;
  };
  const auto a = behind(MakeFleetNode("a", '1', 0), "203.0.113.7");
  const auto b = behind(MakeFleetNode("b", '2', 0), "198.51.100.9");
  const auto c = behind(MakeFleetNode("c", '3', 0), "198.51.100.9");
  v1::CampaignSpec spec = MakeSpec("tcp_all_reduce");
  spec.set_placement(v1::PLACEMENT_POLICY_PAIRS);
  spec.set_retries(3);
  const v1::Campaign campaign = Submit(spec);
  ASSERT_EQ(b->Count(Kind::kAssign), 1);
  EXPECT_EQ(c->Count(Kind::kAssign), 1);
  SayFinished(c, AssignedTo(c));
  Complete(b, AssignedTo(b));
  EXPECT_EQ(Campaign(campaign).jobs().succeeded(), 1);
  EXPECT_EQ(a->Count(Kind::kAssign), 0);
  ASSERT_EQ(Campaign(campaign).jobs().failed(), 2);
  const auto listed = jobs.ListJobs(campaign.campaign_id(), {})->items;
  const auto job = std::find_if(listed.begin(), listed.end(), [](const v1::Job& one) {
    return one.state() == v1::JOB_STATE_FAILED;
  });
  EXPECT_EQ(job->failure().reason(), v1::REASON_NO_SHARED_NETWORK);
  EXPECT_EQ(job->failure().failure_class(), v1::FAILURE_CLASS_USER);
  EXPECT_EQ(job->attempts(), 1);
}

TEST_F(GangPlacementTest, MixedGpusFailTheGangBeforeTheStartUnlessAllowed) {
  const auto with_model = [](v1::Node node, const std::string& model) {
    for (auto& gpu : *node.mutable_description()->mutable_inventory()->mutable_gpus()) {
      gpu.set_model(model);
    }
    return node;
  };
  const auto a = Attach(MakeFleetNode("a", '1', 2));
  const auto b = Attach(MakeFleetNode("b", '2', 2));
  v1::CampaignSpec spec = MakeSpec("all_reduce");
  spec.set_retries(3);
  AddAxis(*spec.mutable_benchmarks(0), "nodes", {"2"});
  v1::CampaignSpec mixed = spec;
  mixed.set_mixed_gpus(true);
  Submit(MakeSpec("cpu_gemm"));
  const v1::JobSpec before = AssignedTo(b);
  const v1::Campaign waiting = Submit(spec);
  const v1::Campaign allowed = Submit(mixed);
  // It has other GPUs by the time that the gang's turn comes.
  const auto again = Attach(with_model(MakeFleetNode("b", '2', 2), "H100"));
  Complete(a, AssignedTo(a));
  Complete(again, before);
  ASSERT_EQ(Campaign(waiting).jobs().failed(), 1);
  const v1::Job job = jobs.ListJobs(waiting.campaign_id(), {})->items[0];
  EXPECT_EQ(job.failure().failure_class(), v1::FAILURE_CLASS_USER);
  EXPECT_EQ(job.failure().reason(), v1::REASON_MIXED_GPUS);
  EXPECT_WORDING("coordinator/gang-mixed-gpus", job.failure().message());
  EXPECT_EQ(job.attempts(), 1);
  EXPECT_EQ(Campaign(allowed).jobs().running(), 1);
  EXPECT_TRUE(AssignedTo(a).mixed_gpus());
}

TEST_F(GangOfTwo, AgentThatLeavesBeforeTheStartEndsTheGangSoon) {
  Begin();
  Pass(30);  // Sweeps begin a lease after the coordinator's start.
  SayReady(a, job, "token");
  b->session->OnClosed();
  for (int second = 0; second < 15; second += 3) {
    executor->Advance(std::chrono::seconds(3));
    SayState(a, {EpochOf(job)});
  }
  EXPECT_EQ(Failure().reason(), v1::REASON_AGENT_LOST);
  EXPECT_EQ(Failure().node_id(), b_.description().node_id());
  EXPECT_NE(a->Last(Kind::kCancel), nullptr);
}

TEST_F(GangOfTwo, LostPeerIsBlamedOnTheAgentThatIsGone) {
  Start();
  Pass(30);
  b->session->OnClosed();
  executor->RunReady();
  SayLostPeer(a, v1::REASON_PEER_LOST);
  EXPECT_EQ(Failure().failure_class(), v1::FAILURE_CLASS_NODE);
  EXPECT_EQ(Failure().reason(), v1::REASON_AGENT_LOST);
  EXPECT_EQ(Failure().node_id(), b_.description().node_id());
}

TEST_F(GangOfTwo, LostPeerIsBlamedOnTheAgentThatIsSilentInItsSession) {
  Start();
  Pass(30);
  for (int second = 0; second < 15; second += 5) {
    executor->Advance(std::chrono::seconds(5));
    SayState(a, {EpochOf(job)});
  }
  SayLostPeer(a, v1::REASON_PEER_UNREACHABLE);
  EXPECT_EQ(Failure().reason(), v1::REASON_AGENT_LOST);
  EXPECT_EQ(Failure().node_id(), b_.description().node_id());
}

TEST_F(GangOfTwo, AgentThatFinishedBeforeIsNotBlamed) {
  Start();
  SayFinished(b, job);
  for (int second = 0; second < 30; second += 5) {
    executor->Advance(std::chrono::seconds(5));
    SayState(a, {EpochOf(job)});
    SayState(b, {});
  }
  SayLostPeer(a, v1::REASON_PEER_LOST);
  EXPECT_EQ(Failure().reason(), v1::REASON_PEER_LOST);
  EXPECT_EQ(Failure().node_id(), "");
}

TEST_F(GangOfTwo, LostPeerWaitsForTheReportOfItsCause) {
  Start();
  SayLostPeer(a, v1::REASON_PEER_LOST);
  EXPECT_TRUE(Running());
  EXPECT_EQ(a->Count(Kind::kJobFinishedAck), 0);
  SayFinished(b, job, v1::REASON_RUNNER_CRASHED);
  EXPECT_EQ(Failure().reason(), v1::REASON_RUNNER_CRASHED);
  EXPECT_EQ(Failure().node_id(), b_.description().node_id());
  for (const auto& agent : {a, b}) EXPECT_EQ(agent->Count(Kind::kJobFinishedAck), 1);
}

TEST_F(GangOfTwo, LostPeerWithoutAReportOfItsCauseEndsTheGangAfterAWait) {
  Start();
  SayLostPeer(a, v1::REASON_PEER_LOST);
  executor->Advance(std::chrono::seconds(9));
  EXPECT_EQ(Failure().reason(), v1::REASON_PEER_LOST);
  EXPECT_EQ(Failure().failure_class(), v1::FAILURE_CLASS_INFRASTRUCTURE);
  EXPECT_EQ(Failure().node_id(), "");
  EXPECT_EQ(a->Count(Kind::kJobFinishedAck), 1);
  EXPECT_NE(b->Last(Kind::kCancel), nullptr);
}

TEST_F(GangOfTwo, LostPeerIsNotBlamedOnAnAgentThatASuspendedCoordinatorKeptWaiting) {
  Start();
  Pass(40);
  clock.Advance(std::chrono::seconds(40));
  b->session->OnClosed();
  SayLostPeer(a, v1::REASON_PEER_LOST);
  executor->Advance(std::chrono::seconds(9));
  EXPECT_EQ(Failure().reason(), v1::REASON_PEER_LOST);
  EXPECT_EQ(Failure().failure_class(), v1::FAILURE_CLASS_INFRASTRUCTURE);
}

TEST_F(GangOfTwo, LostPeerIsNotBlamedOnAnAgentOfAnotherCoordinator) {
  Start();
  Pass(30);
  b->session->OnClosed();
  executor->RunReady();
  const std::unique_ptr<Coordinator> first = std::move(coordinator);
  const std::unique_ptr<ManualExecutor> its_executor = std::move(executor);
  Restart();
  SayState(Attach(b_), {EpochOf(job)});
  SayLostPeer(a, v1::REASON_PEER_LOST);
  its_executor->Advance(std::chrono::seconds(9));
  EXPECT_EQ(Failure().reason(), v1::REASON_PEER_LOST);
  EXPECT_EQ(Failure().failure_class(), v1::FAILURE_CLASS_INFRASTRUCTURE);
  for (const auto& agent : agents) agent->session.reset();
}

TEST_F(GangOfTwo, NodeOfAFrozenRankIsLeftOutOfTheNextAttempt) {
  AttachBoth();
  const auto c = Attach(MakeFleetNode("c", '3', 0));
  v1::CampaignSpec spec = MakeSpec("tcp_all_reduce");
  spec.set_placement(v1::PLACEMENT_POLICY_ANY);
  spec.set_retries(1);
  campaign = Submit(spec);
  job = AssignedTo(a);
  ASSERT_EQ(AssignedTo(b).job_id(), job.job_id());
  SayLostPeer(a, v1::REASON_PEER_FROZEN);
  EXPECT_EQ(Failure().node_id(), b_.description().node_id());
  EXPECT_EQ(AssignedTo(a).epoch(), job.epoch() + 1);
  EXPECT_EQ(b->Count(Kind::kAssign), 1);
  EXPECT_EQ(c->Count(Kind::kAssign), 1);
}

TEST_F(GangOfTwo, ReportedFailureIsDecidedByTheNextCoordinator) {
  Start();
  SayLostPeer(a, v1::REASON_PEER_LOST);
  RestartWithBoth();
  SayLostPeer(a, v1::REASON_PEER_LOST);  // Repeated, since it was not acknowledged.
  SayFinished(b, job, v1::REASON_RUNNER_CRASHED);
  EXPECT_EQ(Failure().reason(), v1::REASON_RUNNER_CRASHED);
}

TEST_F(GangOfTwo, WaitingGangIsStartedByTheNextCoordinator) {
  Begin();
  SayReady(a, job, "token");
  Restart();
  a = Attach(a_);
  SayState(a, {EpochOf(job)});
  SayReady(a, job, "token");
  EXPECT_EQ(a->Count(Kind::kGangGo), 0);
  b = Attach(b_);
  SayReady(b, job, "");  // Before any State of its own.
  ASSERT_EQ(a->Count(Kind::kGangGo), 1);
  ASSERT_EQ(b->Count(Kind::kGangGo), 1);
  EXPECT_EQ(b->Last(Kind::kGangGo)->gang_go().rendezvous_token(), "token");
}

TEST_F(GangOfTwo, GangThatStartedInPartEndsAfterARestart) {
  Start();
  RestartWithBoth();  // a had its GangGo, b's was lost.
  SayReady(b, job, "");
  Pass(85);
  EXPECT_EQ(b->Count(Kind::kGangGo), 0);
  EXPECT_EQ(Failure().reason(), v1::REASON_GANG_NOT_STARTED);
  EXPECT_NE(a->Last(Kind::kCancel), nullptr);
}

TEST_F(GangOfTwo, AssignLostWithTheCoordinatorBlamesNoNode) {
  Begin();
  Restart();
  AttachBoth();
  SayState(b, {EpochOf(job)});
  executor->Advance(std::chrono::seconds(6));
  SayState(a, {});
  EXPECT_EQ(Failure().reason(), v1::REASON_GANG_NOT_STARTED);
  EXPECT_EQ(Failure().failure_class(), v1::FAILURE_CLASS_INFRASTRUCTURE);
  EXPECT_EQ(Failure().node_id(), "");
}

TEST_F(GangOfTwo, GangThatItsAgentsGaveUpBlamesNoNode) {
  Begin();
  SayReady(a, job, "token");
  clock.Advance(std::chrono::seconds(120));
  SayFinished(a, job, v1::REASON_GANG_NOT_STARTED);
  EXPECT_EQ(Failure().reason(), v1::REASON_GANG_NOT_STARTED);
  EXPECT_EQ(Failure().node_id(), "");
}

TEST_F(GangOfTwo, RankWhoseStartWasLostWithTheCoordinatorIsNotBlamed) {
  Begin();
  RestartWithBoth();
  SayReady(a, job, "token");
  SayLostPeer(b, v1::REASON_PEER_FROZEN);
  EXPECT_EQ(Failure().reason(), v1::REASON_GANG_NOT_STARTED);
  EXPECT_EQ(Failure().failure_class(), v1::FAILURE_CLASS_INFRASTRUCTURE);
  EXPECT_EQ(Failure().node_id(), "");
}

TEST_F(GangOfTwo, RankWhoseAgentIsNotBackAfterARestartIsNotBlamed) {
  Begin();
  Restart();
  b = Attach(b_);
  SayState(b, {EpochOf(job)});
  SayLostPeer(b, v1::REASON_PEER_FROZEN);
  EXPECT_EQ(Failure().failure_class(), v1::FAILURE_CLASS_INFRASTRUCTURE);
  EXPECT_EQ(Failure().node_id(), "");
}

// Only rank 0's agent can report the end of the job.
TEST_F(GangOfTwo, NodeOfRankZeroThatIsNotBackAfterARestartEndsTheGang) {
  Start();
  Restart();
  b = Attach(b_);
  SayState(b, {EpochOf(job)});
  SayFinished(b, job);
  for (int second = 0; second < 120; second += 5) {
    executor->Advance(std::chrono::seconds(5));
    SayState(b, {});
  }
  EXPECT_FALSE(Running());
  EXPECT_EQ(Failure().reason(), v1::REASON_LEASE_LOST);
}

TEST_F(GangOfTwo, TimeoutAfterARestartBlamesNoNode) {
  Begin();
  RestartWithBoth();
  SayReady(a, job, "token");
  executor->Advance(std::chrono::seconds(20));
  SayFinished(b, job, v1::REASON_TIMEOUT);
  EXPECT_EQ(Failure().failure_class(), v1::FAILURE_CLASS_INFRASTRUCTURE);
}

TEST_F(GangOfTwo, AgentThatRestartedDuringTheGangIsBlamed) {
  Begin();
  SayStates();
  v1::Node restarted = b_;
  restarted.mutable_description()->set_agent_instance_id("another");
  b->session->OnClosed();
  executor->RunReady();
  b = Attach(restarted);
  executor->Advance(std::chrono::seconds(10));
  SayState(b, {});
  EXPECT_EQ(Failure().reason(), v1::REASON_AGENT_LOST);
  EXPECT_EQ(Failure().node_id(), b_.description().node_id());
}

TEST_F(GangOfTwo, AgentThatLeavesAnAdoptedGangIsBlamed) {
  Begin();
  RestartWithBoth();
  b->session->OnClosed();
  for (int second = 0; second < 60; second += 5) {
    executor->Advance(std::chrono::seconds(5));
    SayState(a, {EpochOf(job)});
  }
  EXPECT_EQ(Failure().reason(), v1::REASON_AGENT_LOST);
  EXPECT_EQ(Failure().node_id(), b_.description().node_id());
}

TEST_F(GangOfTwo, FirstCauseEndsTheGang) {
  Begin();
  SayReady(a, job, "token");
  SayFinished(b, job, v1::REASON_VERSION_MISMATCH);
  ASSERT_NE(a->Last(Kind::kCancel), nullptr);
  EXPECT_EQ(a->Last(Kind::kCancel)->cancel().job_id(), job.job_id());
  EXPECT_EQ(Campaign(campaign).jobs().failed(), 1);
  SayFinished(a, job, v1::REASON_RUNNER_CRASHED);  // Acknowledged, and without effect.
  EXPECT_EQ(a->Count(Kind::kJobFinishedAck), 1);
  EXPECT_EQ(Failure().reason(), v1::REASON_VERSION_MISMATCH);
}

}  // namespace
}  // namespace assay::coordinator
