// Gangs as the coordinator sees them: ranks that become ready, start, fail and leave.
#include <gmock/gmock.h>

#include "coordinator/core/sessions/session.h"
#include "tests/unit/coordinator/fleet_fixture.h"

namespace assay::coordinator {
namespace {

using ::testing::HasSubstr;

using GangSessionTest = FleetOfTwo;

TEST_F(GangSessionTest, AGangStartsWhenAllAreReady) {
  const auto a = Attach(a_);
  const auto b = Attach(b_);
  const v1::Campaign campaign = Submit(MakeSpec("tcp_all_reduce"));
  const v1::JobSpec job = AssignedTo(a);
  ASSERT_EQ(AssignedTo(b).job_id(), job.job_id());
  EXPECT_EQ(job.node_names(1), "b");
  SayReady(a, job, "token");
  EXPECT_EQ(a->Count(Kind::kGangGo), 0);
  SayReady(b, job, "not rank 0's");
  ASSERT_EQ(a->Count(Kind::kGangGo), 1);
  ASSERT_EQ(b->Count(Kind::kGangGo), 1);
  EXPECT_EQ(b->Last(Kind::kGangGo)->gang_go().rendezvous_token(), "token");
  SayFinished(b, AssignedTo(b));
  EXPECT_EQ(Campaign(campaign).jobs().running(), 1);
  Complete(a, job);
  EXPECT_EQ(Campaign(campaign).jobs().succeeded(), 1);
}

TEST_F(GangSessionTest, RanksOfAGpuGangAreNumberedNodeByNode) {
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

TEST_F(GangSessionTest, AGangOfMixedDriversFailsBeforeAnythingStarts) {
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
  EXPECT_THAT(job.failure().message(), HasSubstr("the driver is 570.1 on a and 580.95.05 on b"));
  EXPECT_EQ(job.attempts(), 1);
}

TEST_F(GangSessionTest, AGangOfMixedGpusFailsBeforeAnythingStartsUnlessItMay) {
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
  EXPECT_THAT(job.failure().message(), HasSubstr("the GPU is H200 on a and H100 on b"));
  EXPECT_EQ(job.attempts(), 1);
  EXPECT_EQ(Campaign(allowed).jobs().running(), 1);
  EXPECT_TRUE(AssignedTo(a).mixed_gpus());
}

TEST_F(GangSessionTest, AnAgentThatLeavesBeforeTheStartEndsItsGangSoon) {
  const auto a = Attach(a_);
  const auto b = Attach(b_);
  const v1::Campaign campaign = Submit(MakeSpec("tcp_all_reduce"));
  const v1::JobSpec job = AssignedTo(a);
  // Sweeps begin a lease after the coordinator's start.
  for (int second = 0; second < 30; second += 5) {
    clock.Advance(std::chrono::seconds(5));
    executor->RunReady();
    for (const auto& agent : {a, b}) SayState(agent, {EpochOf(job)});
  }
  SayReady(a, job, "token");
  b->session->OnClosed();
  for (int second = 0; second < 15; second += 3) {
    clock.Advance(std::chrono::seconds(3));
    executor->RunReady();
    SayState(a, {EpochOf(job)});
  }
  EXPECT_EQ(Campaign(campaign).jobs().failed(), 1);
  const v1::Failure failure = FailureOf(campaign);
  EXPECT_EQ(failure.reason(), v1::REASON_AGENT_LOST);
  EXPECT_EQ(failure.node_id(), b_.description().node_id());
  EXPECT_NE(a->Last(Kind::kCancel), nullptr);
}

TEST_F(GangSessionTest, ALostPeerIsBlamedOnTheAgentThatIsGone) {
  const auto a = Attach(a_);
  const auto b = Attach(b_);
  const v1::Campaign campaign = Submit(MakeSpec("tcp_all_reduce"));
  const v1::JobSpec job = AssignedTo(a);
  SayReady(a, job, "token");
  SayReady(b, job, "");
  b->session->OnClosed();
  executor->RunReady();
  v1::AgentMessage message;
  message.mutable_job_finished()->set_job_id(job.job_id());
  message.mutable_job_finished()->set_epoch(job.epoch());
  v1::Failure* lost = message.mutable_job_finished()->mutable_failure();
  lost->set_failure_class(v1::FAILURE_CLASS_INFRASTRUCTURE);
  lost->set_reason(v1::REASON_PEER_LOST);
  lost->set_message("rank 0 on node a: rank 1: its connection ended");
  Say(a, std::move(message));
  const v1::Failure failure = FailureOf(campaign);
  EXPECT_EQ(failure.failure_class(), v1::FAILURE_CLASS_NODE);
  EXPECT_EQ(failure.reason(), v1::REASON_AGENT_LOST);
  EXPECT_EQ(failure.node_id(), b_.description().node_id());
  EXPECT_THAT(failure.message(), HasSubstr("the agent of node b is gone; rank 0 on node a"));
}

TEST_F(GangSessionTest, ALostPeerIsNotBlamedOnAnAgentThatTheCoordinatorKeptWaiting) {
  const auto a = Attach(a_);
  const auto b = Attach(b_);
  const v1::Campaign campaign = Submit(MakeSpec("tcp_all_reduce"));
  const v1::JobSpec job = AssignedTo(a);
  for (const auto& agent : {a, b}) SayReady(agent, job, "token");
  for (const int seconds : {20, 20}) {
    executor->Advance(std::chrono::seconds(seconds));
    for (const auto& agent : {a, b}) SayState(agent, {EpochOf(job)});
  }
  clock.Advance(std::chrono::seconds(40));
  b->session->OnClosed();  // Its lease has ended, and it is about to dial again.
  SayFinished(a, job, v1::FAILURE_CLASS_INFRASTRUCTURE, v1::REASON_PEER_LOST);
  const v1::Failure failure = FailureOf(campaign);
  EXPECT_EQ(failure.reason(), v1::REASON_PEER_LOST);
  EXPECT_EQ(failure.failure_class(), v1::FAILURE_CLASS_INFRASTRUCTURE);
}

// With two coordinators.
TEST_F(GangSessionTest, ALostPeerIsNotBlamedOnAnAgentThatIsWithAnotherCoordinator) {
  const auto a = Attach(a_);
  const auto b = Attach(b_);
  const v1::Campaign campaign = Submit(MakeSpec("tcp_all_reduce"));
  const v1::JobSpec job = AssignedTo(a);
  for (const auto& agent : {a, b}) SayReady(agent, job, "token");
  b->session->OnClosed();
  executor->RunReady();
  const std::unique_ptr<Coordinator> first = std::move(coordinator);
  const std::unique_ptr<ManualExecutor> its_executor = std::move(executor);
  Restart();
  SayState(Attach(b_), {EpochOf(job)});
  SayFinished(a, job, v1::FAILURE_CLASS_INFRASTRUCTURE, v1::REASON_PEER_LOST);
  its_executor->RunReady();
  EXPECT_EQ(FailureOf(campaign).reason(), v1::REASON_PEER_LOST);
  EXPECT_EQ(FailureOf(campaign).failure_class(), v1::FAILURE_CLASS_INFRASTRUCTURE);
  for (const auto& agent : agents) agent->session.reset();
}

TEST_F(GangSessionTest, TheNodeThatFellSilentIsLeftOutOfTheNextAttempt) {
  const auto a = Attach(a_);
  const auto b = Attach(b_);
  const auto c = Attach(MakeFleetNode("c", '3', 0));
  v1::CampaignSpec spec = MakeSpec("tcp_all_reduce");
  spec.set_placement(v1::PLACEMENT_POLICY_ANY);
  spec.set_retries(1);
  const v1::Campaign campaign = Submit(spec);
  const v1::JobSpec job = AssignedTo(a);
  ASSERT_EQ(AssignedTo(b).job_id(), job.job_id());
  v1::AgentMessage message;
  message.mutable_job_finished()->set_job_id(job.job_id());
  message.mutable_job_finished()->set_epoch(job.epoch());
  v1::Failure* silent = message.mutable_job_finished()->mutable_failure();
  silent->set_failure_class(v1::FAILURE_CLASS_NODE);
  silent->set_reason(v1::REASON_PEER_TIMEOUT);
  silent->set_node_id(b_.description().node_id());
  Say(a, std::move(message));
  EXPECT_EQ(FailureOf(campaign).node_id(), b_.description().node_id());
  EXPECT_EQ(AssignedTo(a).epoch(), job.epoch() + 1);
  EXPECT_EQ(b->Count(Kind::kAssign), 1);
  EXPECT_EQ(c->Count(Kind::kAssign), 1);
}

TEST_F(GangSessionTest, AGangThatWaitsIsStartedByTheNextCoordinator) {
  const auto a = Attach(a_);
  Attach(b_);
  const v1::Campaign campaign = Submit(MakeSpec("tcp_all_reduce"));
  const v1::JobSpec job = AssignedTo(a);
  SayReady(a, job, "token");
  Restart();
  const auto a2 = Attach(a_);
  SayState(a2, {EpochOf(job)});
  SayReady(a2, job, "token");
  EXPECT_EQ(a2->Count(Kind::kGangGo), 0);
  const auto b2 = Attach(b_);
  SayReady(b2, job, "");  // Before any State of its own.
  ASSERT_EQ(a2->Count(Kind::kGangGo), 1);
  ASSERT_EQ(b2->Count(Kind::kGangGo), 1);
  EXPECT_EQ(b2->Last(Kind::kGangGo)->gang_go().rendezvous_token(), "token");
}

TEST_F(GangSessionTest, AGangThatBeganInPartEndsAfterARestart) {
  const auto a = Attach(a_);
  const auto b = Attach(b_);
  const v1::Campaign campaign = Submit(MakeSpec("tcp_all_reduce"));
  const v1::JobSpec job = AssignedTo(a);
  SayReady(a, job, "token");
  SayReady(b, job, "");
  Restart();  // a had its GangGo, b's was lost.
  const auto a2 = Attach(a_);
  const auto b2 = Attach(b_);
  for (const auto& agent : {a2, b2}) SayState(agent, {EpochOf(job)});
  SayReady(b2, job, "");
  for (int second = 0; second < 84; second += 3) {
    clock.Advance(std::chrono::seconds(3));
    executor->RunReady();
    for (const auto& agent : {a2, b2}) SayState(agent, {EpochOf(job)});
  }
  EXPECT_EQ(b2->Count(Kind::kGangGo), 0);
  EXPECT_EQ(Campaign(campaign).jobs().failed(), 1);
  EXPECT_EQ(FailureOf(campaign).reason(), v1::REASON_GANG_NOT_STARTED);
  EXPECT_NE(a2->Last(Kind::kCancel), nullptr);
}

TEST_F(GangSessionTest, AnAssignThatWasLostWithTheCoordinatorIsNoNodesFault) {
  const auto a = Attach(a_);
  const auto b = Attach(b_);
  const v1::Campaign campaign = Submit(MakeSpec("tcp_all_reduce"));
  const v1::JobSpec job = AssignedTo(b);
  Restart();
  const auto a2 = Attach(a_);
  const auto b2 = Attach(b_);
  SayState(b2, {EpochOf(job)});
  executor->Advance(std::chrono::seconds(6));
  SayState(a2, {});
  const v1::Failure failure = FailureOf(campaign);
  EXPECT_EQ(failure.reason(), v1::REASON_GANG_NOT_STARTED);
  EXPECT_EQ(failure.failure_class(), v1::FAILURE_CLASS_INFRASTRUCTURE);
  EXPECT_EQ(failure.node_id(), "");
  EXPECT_THAT(failure.message(), HasSubstr("the agent of node a has no part of it"));
}

TEST_F(GangSessionTest, AGangThatItsAgentsGaveUpWaitingForBlamesNoNode) {
  const auto a = Attach(a_);
  Attach(b_);
  const v1::Campaign campaign = Submit(MakeSpec("tcp_all_reduce"));
  const v1::JobSpec job = AssignedTo(a);
  SayReady(a, job, "token");
  clock.Advance(std::chrono::seconds(120));
  SayFinished(a, job, v1::FAILURE_CLASS_INFRASTRUCTURE, v1::REASON_GANG_NOT_STARTED);
  const v1::Failure failure = FailureOf(campaign);
  EXPECT_EQ(failure.node_id(), "");
  EXPECT_THAT(failure.message(), HasSubstr("that it is ready: rank 1 on node b"));
}

TEST_F(GangSessionTest, ARankWhoseStartWasLostWithTheCoordinatorIsNotAtFault) {
  const auto a = Attach(a_);
  const auto b = Attach(b_);
  const v1::Campaign campaign = Submit(MakeSpec("tcp_all_reduce"));
  const v1::JobSpec job = AssignedTo(a);
  Restart();
  const auto a2 = Attach(a_);
  const auto b2 = Attach(b_);
  for (const auto& agent : {a2, b2}) SayState(agent, {EpochOf(job)});
  SayReady(a2, job, "token");
  SayFinished(b2, job, v1::FAILURE_CLASS_NODE, v1::REASON_PEER_TIMEOUT);
  const v1::Failure failure = FailureOf(campaign);
  EXPECT_EQ(failure.reason(), v1::REASON_GANG_NOT_STARTED);
  EXPECT_EQ(failure.failure_class(), v1::FAILURE_CLASS_INFRASTRUCTURE);
  EXPECT_EQ(failure.node_id(), "");
  EXPECT_THAT(failure.message(),
              testing::StartsWith("the coordinator changed while the gang began"));
}

TEST_F(GangSessionTest, ARankThatIsNotBackSinceTheCoordinatorChangedIsNotAtFault) {
  const auto a = Attach(a_);
  const auto b = Attach(b_);
  const v1::Campaign campaign = Submit(MakeSpec("tcp_all_reduce"));
  const v1::JobSpec job = AssignedTo(a);
  Restart();
  const auto b2 = Attach(b_);
  SayState(b2, {EpochOf(job)});
  v1::AgentMessage message;
  message.mutable_job_finished()->set_job_id(job.job_id());
  message.mutable_job_finished()->set_epoch(job.epoch());
  v1::Failure* silent = message.mutable_job_finished()->mutable_failure();
  silent->set_failure_class(v1::FAILURE_CLASS_NODE);
  silent->set_reason(v1::REASON_PEER_TIMEOUT);
  silent->set_node_id(a_.description().node_id());
  Say(b2, std::move(message));
  const v1::Failure failure = FailureOf(campaign);
  EXPECT_EQ(failure.failure_class(), v1::FAILURE_CLASS_INFRASTRUCTURE);
  EXPECT_THAT(failure.message(), HasSubstr("may have missed the gang's start"));
}

// Rank 0's, whose agent alone can say that the job is done.
TEST_F(GangSessionTest, ANodeThatDoesNotComeBackAfterARestartEndsTheGang) {
  const auto a = Attach(a_);
  const auto b = Attach(b_);
  const v1::Campaign campaign = Submit(MakeSpec("tcp_all_reduce"));
  const v1::JobSpec job = AssignedTo(a);
  for (const auto& agent : {a, b}) SayReady(agent, job, "token");
  Restart();
  const auto b2 = Attach(b_);
  SayState(b2, {EpochOf(job)});
  SayFinished(b2, job);
  for (int second = 0; second < 120; second += 5) {
    executor->Advance(std::chrono::seconds(5));
    SayState(b2, {});
  }
  EXPECT_EQ(Campaign(campaign).jobs().running(), 0);
  EXPECT_EQ(FailureOf(campaign).reason(), v1::REASON_LEASE_LOST);
}

TEST_F(GangSessionTest, AGangWhoseTimeIsOverAfterARestartBlamesNoNode) {
  const auto a = Attach(a_);
  Attach(b_);
  const v1::Campaign campaign = Submit(MakeSpec("tcp_all_reduce"));
  const v1::JobSpec job = AssignedTo(a);
  Restart();
  const auto a2 = Attach(a_);
  const auto b2 = Attach(b_);
  for (const auto& agent : {a2, b2}) SayState(agent, {EpochOf(job)});
  SayReady(a2, job, "token");
  executor->Advance(std::chrono::seconds(20));
  SayFinished(b2, job, v1::FAILURE_CLASS_JOB, v1::REASON_TIMEOUT);
  const v1::Failure failure = FailureOf(campaign);
  EXPECT_EQ(failure.failure_class(), v1::FAILURE_CLASS_INFRASTRUCTURE);
  EXPECT_THAT(failure.message(), HasSubstr("the coordinator changed while the gang began"));
}

TEST_F(GangSessionTest, AnAgentThatIsBackWithoutItsPartIsNamed) {
  const auto a = Attach(a_);
  const auto b = Attach(b_);
  const v1::Campaign campaign = Submit(MakeSpec("tcp_all_reduce"));
  const v1::JobSpec job = AssignedTo(a);
  for (const auto& agent : {a, b}) SayState(agent, {EpochOf(job)});
  v1::Node restarted = b_;
  restarted.mutable_description()->set_agent_instance_id("another");
  const auto again = Attach(restarted);
  executor->Advance(std::chrono::seconds(10));
  SayState(again, {});
  const v1::Failure failure = FailureOf(campaign);
  EXPECT_EQ(failure.reason(), v1::REASON_AGENT_LOST);
  EXPECT_EQ(failure.node_id(), b_.description().node_id());
  EXPECT_EQ(failure.message(), "the agent of node b restarted while it ran the job");
}

TEST_F(GangSessionTest, AnAgentThatLeavesAnAdoptedGangIsNamed) {
  const auto a = Attach(a_);
  Attach(b_);
  const v1::Campaign campaign = Submit(MakeSpec("tcp_all_reduce"));
  const v1::JobSpec job = AssignedTo(a);
  Restart();
  const auto a2 = Attach(a_);
  const auto b2 = Attach(b_);
  for (const auto& agent : {a2, b2}) SayState(agent, {EpochOf(job)});
  b2->session->OnClosed();
  for (int second = 0; second < 60; second += 5) {
    clock.Advance(std::chrono::seconds(5));
    executor->RunReady();
    SayState(a2, {EpochOf(job)});
  }
  const v1::Failure failure = FailureOf(campaign);
  EXPECT_EQ(failure.reason(), v1::REASON_AGENT_LOST);
  EXPECT_THAT(failure.message(), HasSubstr("the agent of node b has not spoken of the job"));
}

TEST_F(GangSessionTest, AGangEndsWithItsFirstFailure) {
  const auto a = Attach(a_);
  const auto b = Attach(b_);
  const v1::Campaign campaign = Submit(MakeSpec("tcp_all_reduce"));
  const v1::JobSpec job = AssignedTo(a);
  SayReady(a, job, "token");
  SayFinished(b, AssignedTo(b), v1::FAILURE_CLASS_USER);
  ASSERT_NE(a->Last(Kind::kCancel), nullptr);
  EXPECT_EQ(a->Last(Kind::kCancel)->cancel().job_id(), job.job_id());
  EXPECT_EQ(Campaign(campaign).jobs().failed(), 1);
  SayFinished(a, job, v1::FAILURE_CLASS_JOB);  // Acknowledged, and of no effect.
  EXPECT_EQ(a->Count(Kind::kJobFinishedAck), 1);
}

}  // namespace
}  // namespace assay::coordinator
