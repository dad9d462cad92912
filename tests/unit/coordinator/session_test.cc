#include "coordinator/core/sessions/session.h"

#include <gmock/gmock.h>

#include "common/uuid.h"
#include "tests/unit/coordinator/fleet_fixture.h"
#include "tests/wording.h"

namespace assay::coordinator {
namespace {

using SessionTest = FleetOfTwo;

TEST_F(SessionTest, AJobIsAssignedWithItsCounters) {
  const auto agent = Attach(MakeFleetNode("g", '7', 1));
  v1::CampaignSpec spec = MakeSpec("gemm");
  spec.set_counters(true);
  Submit(spec);
  EXPECT_TRUE(AssignedTo(agent).counters());
}

TEST_F(SessionTest, AJobFromAttachToVerdict) {
  const auto agent = Attach(a_);
  ASSERT_NE(agent->Last(Kind::kHelloAck), nullptr);
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  spec.add_accept()->set_text("cpu_gemm.tflops >= 1 TFLOP/s");
  const v1::Campaign campaign = Submit(spec);
  const v1::JobSpec job = AssignedTo(agent);
  EXPECT_EQ(job.ranks_size(), 1);
  EXPECT_EQ(job.ranks(0).gpu_index(), -1);
  EXPECT_FALSE(job.counters());
  Complete(agent, job);
  EXPECT_EQ(agent->Last(Kind::kResultAck)->result_ack().verdict(), v1::ResultAck::VERDICT_STORED);
  EXPECT_NE(agent->Last(Kind::kJobFinishedAck), nullptr);
  EXPECT_EQ(Campaign(campaign).state(), v1::CAMPAIGN_STATE_COMPLETED);
  EXPECT_EQ(Campaign(campaign).verdict(), v1::VERDICT_PASSED);
}

TEST_F(SessionTest, ACampaignTellsWhichNodeItWaitsFor) {
  const auto a = Attach(a_);
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  spec.set_repetitions(2);
  const v1::Campaign campaign = Submit(spec);
  const auto waiting = [&] { return coordinator->GetCampaign(campaign.campaign_id())->waiting(); };
  EXPECT_TRUE(waiting().empty());  // For a node that is busy.
  a->session->OnClosed();
  executor->RunReady();
  executor->Advance(std::chrono::seconds(11));
  EXPECT_TRUE(waiting().empty()) << "agents may not have dialled a coordinator that has just begun";
  executor->Advance(std::chrono::seconds(20));
  ASSERT_EQ(waiting().size(), 1);
  EXPECT_EQ(waiting()[0].jobs(), 1);
  EXPECT_EQ(waiting()[0].nodes(0).name(), "a");
  EXPECT_TRUE(waiting()[0].nodes(0).has_last_heartbeat_time());
  Attach(a_);
  EXPECT_TRUE(waiting().empty());
}

TEST_F(SessionTest, TheFirstMessageHasToBeHello) {
  const auto agent = Connect(a_);
  SayState(agent, {});
  ASSERT_TRUE(agent->closed.has_value());
  EXPECT_EQ(agent->closed->reason(), Reason::kProtocolViolation);
}

TEST_F(SessionTest, BadHellosAreRefused) {
  v1::Hello hello;
  EXPECT_FALSE(CheckHello(hello).ok());
  *hello.mutable_node() = a_.description();
  hello.set_protocol_revision(1);
  EXPECT_TRUE(CheckHello(hello).ok());
  hello.mutable_node()->set_node_id("../../etc");
  EXPECT_EQ(CheckHello(hello).reason(), Reason::kInvalidHello);
  *hello.mutable_node() = a_.description();
  hello.mutable_node()->set_name("a\nb");
  EXPECT_FALSE(CheckHello(hello).ok());
  hello.mutable_node()->set_name("a\u200b");
  EXPECT_EQ(CheckHello(hello).reason(), Reason::kInvalidHello);
  hello.mutable_node()->set_name("a");
  hello.mutable_node()->mutable_inventory()->set_os(std::string(100 << 10, 'x'));
  EXPECT_EQ(CheckHello(hello).reason(), Reason::kInvalidHello);
  EXPECT_EQ(CheckHello(hello).violations().at(0).field, "node.inventory.os");
  hello.mutable_node()->mutable_inventory()->clear_os();
  hello.set_protocol_revision(0);
  EXPECT_EQ(CheckHello(hello).reason(), Reason::kInvalidHello);
}

TEST_F(SessionTest, MetricsAreFoundOnlyWhereTheSessionComesFrom) {
  const auto kept = [this](const std::string& claimed) {
    v1::Node node = a_;
    node.mutable_description()->set_metrics_address(claimed);
    Attach(node);  // From 10.0.0.7.
    return coordinator->GetNode("a")->description().metrics_address();
  };
  EXPECT_EQ(kept("10.0.0.7:9901"), "10.0.0.7:9901");
  EXPECT_EQ(kept("0.0.0.0:9901"), "10.0.0.7:9901");
  EXPECT_EQ(kept("[::]:9901"), "10.0.0.7:9901");
  for (const char* other : {"169.254.169.254:80", "127.0.0.1:9901", "10.0.0.70:80", "x:1", "x"}) {
    EXPECT_EQ(kept(other), "") << other;
  }
}

TEST_F(SessionTest, EndlessEvidenceIsCutAndTheJobStillEnds) {
  const auto agent = Attach(a_);
  const v1::Campaign campaign = Submit(MakeSpec("cpu_gemm"));
  v1::Failure failure = MakeFailure(v1::REASON_RUNNER_CRASHED, std::string(1 << 20, 'm'));
  failure.set_evidence(std::string(15 << 20, 'e'));
  SayFailed(agent, AssignedTo(agent), failure);
  EXPECT_EQ(Campaign(campaign).jobs().failed(), 1);
  EXPECT_EQ(FailureOf(campaign).message().size(), 8u << 10);
  EXPECT_EQ(FailureOf(campaign).evidence().size(), 64u << 10);
}

TEST_F(SessionTest, ResultBeyondItsBoundsIsRejected_AndTheSessionGoesOn) {
  const auto agent = Attach(a_);
  const v1::Campaign campaign = Submit(MakeSpec("cpu_gemm"));
  const v1::JobSpec job = AssignedTo(agent);
  v1::CaseResult result = ResultOf(job, 0);
  result.mutable_environment()->set_cpu_model(std::string(1 << 20, 'c'));
  SayResult(agent, result);
  EXPECT_EQ(agent->Last(Kind::kResultAck)->result_ack().verdict(), v1::ResultAck::VERDICT_REJECTED);
  Complete(agent, job);
  EXPECT_EQ(Campaign(campaign).verdict(), v1::VERDICT_PASSED);
}

TEST_F(SessionTest, StateBeyondItsBoundsEndsTheSession) {
  const auto agent = Attach(a_);
  v1::AgentMessage message;
  message.mutable_state()->add_running_jobs()->set_phase(std::string(1 << 20, 'p'));
  Say(agent, std::move(message));
  ASSERT_TRUE(agent->closed.has_value());
  EXPECT_EQ(agent->closed->reason(), Reason::kProtocolViolation);
}

TEST_F(SessionTest, SpecBeyondItsBoundsIsRefused) {
  v1::CreateCampaignRequest request;
  *request.mutable_spec() = MakeSpec("cpu_gemm");
  request.mutable_spec()->add_accept()->set_text(std::string(1 << 20, 'x'));
  const Status refused = coordinator->CreateCampaign(request).status();
  EXPECT_EQ(refused.reason(), Reason::kInvalidCampaign);
  EXPECT_EQ(refused.violations().at(0).field, "accept[0].text");
}

TEST_F(SessionTest, ASecondSessionOfANodeReplacesTheFirst) {
  const auto first = Attach(a_);
  const auto second = Attach(a_);
  ASSERT_TRUE(first->closed.has_value());
  EXPECT_EQ(first->closed->reason(), Reason::kSessionReplaced);
  first->session->OnClosed();
  executor->RunReady();
  EXPECT_EQ(coordinator->GetNode("a")->state(), v1::NODE_STATE_CONNECTED);
  Submit(MakeSpec("cpu_gemm"));
  EXPECT_EQ(first->Count(Kind::kAssign), 0);
  EXPECT_EQ(second->Count(Kind::kAssign), 1);
}

TEST_F(SessionTest, ALostAssignIsSentAgainUnderTheSameEpoch) {
  const auto agent = Attach(a_);
  Submit(MakeSpec("cpu_gemm"));
  const v1::JobSpec job = AssignedTo(agent);
  SayState(agent, {});  // The Assign may still be on its way.
  EXPECT_EQ(agent->Count(Kind::kAssign), 1);
  executor->Advance(std::chrono::seconds(6));
  SayState(agent, {});
  ASSERT_EQ(agent->Count(Kind::kAssign), 2);
  EXPECT_EQ(AssignedTo(agent).epoch(), job.epoch());
}

TEST_F(SessionTest, AStateIsAnsweredWithRenewalAndCancel) {
  const auto agent = Attach(a_);
  Submit(MakeSpec("cpu_gemm"));
  const v1::JobSpec job = AssignedTo(agent);
  SayState(agent, {EpochOf(job), {NewUuid(), 3}}, 42);
  const v1::LeaseRenewal& renewal = agent->Last(Kind::kLeaseRenewal)->lease_renewal();
  EXPECT_EQ(renewal.sequence(), 42u);
  ASSERT_EQ(renewal.jobs_size(), 1);
  EXPECT_EQ(renewal.jobs(0).job_id(), job.job_id());
  EXPECT_EQ(agent->Last(Kind::kCancel)->cancel().epoch(), 3);
}

TEST_F(SessionTest, ResultsAreStoredOnceAndStaleOnesRefused) {
  const auto agent = Attach(a_);
  Submit(MakeSpec("cpu_gemm"));
  const v1::JobSpec job = AssignedTo(agent);
  const v1::CaseResult result = ResultOf(job, 0);
  const auto verdict = [&] { return agent->Last(Kind::kResultAck)->result_ack().verdict(); };
  SayResult(agent, result);
  SayResult(agent, result);
  EXPECT_EQ(verdict(), v1::ResultAck::VERDICT_STORED);
  SayResult(agent, ResultOf(job, 0, 3.0));
  EXPECT_EQ(verdict(), v1::ResultAck::VERDICT_REJECTED);
  v1::CaseResult malformed = ResultOf(job, 0);
  (*malformed.mutable_parameters())["m"] = "65";
  SayResult(agent, malformed);
  EXPECT_EQ(verdict(), v1::ResultAck::VERDICT_REJECTED);
  EXPECT_WORDING("coordinator/result-of-another-case",
                 agent->Last(Kind::kResultAck)->result_ack().message());
  v1::CaseResult stale = ResultOf(job, 0, 4.0);
  stale.set_epoch(job.epoch() + 1);
  SayResult(agent, stale);
  EXPECT_EQ(verdict(), v1::ResultAck::VERDICT_UNKNOWN_JOB) << "as after a restore";
  EXPECT_EQ(results.List("", {})->items.size(), 1u);
}

TEST_F(SessionTest, ANodeTakesOneExclusiveJobAtATime) {
  const auto agent = Attach(a_);
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  spec.set_repetitions(2);
  Submit(spec);
  EXPECT_EQ(agent->Count(Kind::kAssign), 1);
  Complete(agent, AssignedTo(agent));
  EXPECT_EQ(agent->Count(Kind::kAssign), 2);
}

TEST_F(SessionTest, AFailedJobMovesToAnotherNode) {
  const auto a = Attach(a_);
  const auto b = Attach(b_);
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  spec.set_placement(v1::PLACEMENT_POLICY_ANY);
  spec.set_retries(1);
  const v1::Campaign campaign = Submit(spec);
  const bool first_on_a = a->Count(Kind::kAssign) == 1;
  const auto& first = first_on_a ? a : b;
  const auto& second = first_on_a ? b : a;
  SayFinished(first, AssignedTo(first), v1::REASON_PREFLIGHT_FAILED);
  ASSERT_EQ(second->Count(Kind::kAssign), 1);
  EXPECT_EQ(AssignedTo(second).epoch(), 2);
  SayFinished(second, AssignedTo(second), v1::REASON_PREFLIGHT_FAILED);
  EXPECT_EQ(Campaign(campaign).jobs().failed(), 1);
  EXPECT_EQ(Campaign(campaign).verdict(), v1::VERDICT_FAILED);
}

TEST_F(SessionTest, ASilentAgentLosesItsJob) {
  const auto a = Attach(a_);
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  spec.set_retries(1);
  const v1::Campaign campaign = Submit(spec);
  const v1::JobSpec job = AssignedTo(a);
  SayState(a, {EpochOf(job)});
  a->session->OnClosed();
  executor->Advance(std::chrono::seconds(40));
  const auto listed = jobs.ListJobs(campaign.campaign_id(), {});
  EXPECT_EQ(listed->items[0].state(), v1::JOB_STATE_QUEUED);
  EXPECT_EQ(listed->items[0].failure().reason(), v1::REASON_AGENT_LOST);
  const auto again = Attach(a_);
  EXPECT_EQ(AssignedTo(again).epoch(), 2);
}

TEST_F(SessionTest, SuspendedCoordinator_GivesAgentsTimeToReconnectBeforeTheirJobsAreLost) {
  const auto a = Attach(a_);
  const v1::Campaign campaign = Submit(MakeSpec("cpu_gemm"));
  const v1::JobSpec job = AssignedTo(a);
  for (const int seconds : {20, 20}) {  // Until the grace period of the start is over.
    executor->Advance(std::chrono::seconds(seconds));
    SayState(a, {EpochOf(job)});
  }
  clock.Advance(std::chrono::seconds(40));
  executor->RunReady();
  EXPECT_EQ(Campaign(campaign).jobs().running(), 1);
  SayState(a, {EpochOf(job)});
  executor->Advance(std::chrono::seconds(85));  // A lease, and a minute to reconnect.
  EXPECT_EQ(Campaign(campaign).jobs().running(), 1);
  executor->Advance(std::chrono::seconds(10));
  EXPECT_EQ(Campaign(campaign).jobs().running(), 0);
}

TEST_F(SessionTest, ARestartedAgentDoesNotGetItsJobBackUnderTheSameEpoch) {
  const auto a = Attach(a_);
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  spec.set_retries(1);
  Submit(spec);
  SayState(a, {EpochOf(AssignedTo(a))});
  v1::Node restarted = a_;
  restarted.mutable_description()->set_agent_instance_id("another");
  executor->Advance(std::chrono::seconds(6));
  a->session->OnClosed();
  executor->RunReady();
  const auto again = Attach(restarted);
  SayState(again, {});
  executor->Advance(std::chrono::seconds(5));
  EXPECT_EQ(AssignedTo(again).epoch(), 2);
}

TEST_F(SessionTest, ARestartedCoordinatorAdoptsWhatRuns) {
  auto agent = Attach(a_);
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  AddAxis(*spec.mutable_benchmarks(0), "dtype", {"bf16", "fp16"});
  const v1::Campaign campaign = Submit(spec);
  const v1::JobSpec job = AssignedTo(agent);
  SayResult(agent, ResultOf(job, 0));
  Restart();
  agent = Attach(a_);
  SayState(agent, {EpochOf(job)});
  EXPECT_EQ(agent->Last(Kind::kLeaseRenewal)->lease_renewal().jobs_size(), 1);
  EXPECT_EQ(agent->Count(Kind::kAssign), 0);
  SayResult(agent, ResultOf(job, 1));
  SayFinished(agent, job);
  EXPECT_EQ(Campaign(campaign).jobs().succeeded(), 1);
  EXPECT_EQ(Campaign(campaign).verdict(), v1::VERDICT_PASSED);
}

TEST_F(SessionTest, CancellingStopsRunningJobs) {
  const auto agent = Attach(a_);
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  spec.set_repetitions(2);
  const v1::Campaign campaign = Submit(spec);
  const v1::JobSpec job = AssignedTo(agent);
  ASSERT_TRUE(coordinator->CancelCampaign(campaign.campaign_id()).ok());
  ASSERT_NE(agent->Last(Kind::kCancel), nullptr);
  SayFinished(agent, job, v1::REASON_RUNNER_CRASHED);
  EXPECT_EQ(Campaign(campaign).state(), v1::CAMPAIGN_STATE_CANCELLED);
  EXPECT_EQ(Campaign(campaign).verdict(), v1::VERDICT_FAILED);
  EXPECT_EQ(agent->Count(Kind::kAssign), 1);
}

TEST_F(SessionTest, WorkWaitsWhileTheDatabaseIsAway) {
  const auto agent = Attach(a_);
  const v1::Campaign campaign = Submit(MakeSpec("cpu_gemm"));
  const v1::JobSpec job = AssignedTo(agent);
  jobs.away = true;
  Complete(agent, job);
  EXPECT_EQ(agent->Count(Kind::kJobFinishedAck), 0);
  executor->Advance(std::chrono::seconds(20));
  jobs.away = false;
  executor->Advance(std::chrono::seconds(6));
  EXPECT_EQ(agent->Count(Kind::kJobFinishedAck), 1);
  EXPECT_EQ(Campaign(campaign).verdict(), v1::VERDICT_PASSED);
}

TEST_F(SessionTest, AnOutageLongerThanTheLeaseCostsNoAttempt) {
  const auto agent = Attach(a_);
  const v1::Campaign campaign = Submit(MakeSpec("cpu_gemm"));
  const v1::JobSpec job = AssignedTo(agent);
  SayState(agent, {EpochOf(job)});
  jobs.away = true;
  Complete(agent, job);
  for (uint64_t beat = 2; beat <= 12; ++beat) {
    executor->Advance(std::chrono::seconds(5));
    SayState(agent, {EpochOf(job)}, beat);
  }
  jobs.away = false;
  executor->Advance(std::chrono::seconds(6));
  EXPECT_EQ(Campaign(campaign).jobs().succeeded(), 1);
  EXPECT_EQ(Campaign(campaign).verdict(), v1::VERDICT_PASSED);
}

TEST_F(SessionTest, AFloodIsHeldBack) {
  const auto agent = Attach(a_);
  bool read_on = true;
  int sent = 0;
  while (read_on && sent < 10'000) {
    v1::AgentMessage message;
    message.mutable_state()->set_sequence(static_cast<uint64_t>(++sent));
    read_on = agent->session->OnMessage(std::move(message));
  }
  EXPECT_LT(sent, 1000);
  EXPECT_EQ(agent->reads_resumed, 0);
  executor->RunReady();
  EXPECT_EQ(agent->reads_resumed, 1);
}

TEST_F(SessionTest, ALeavingAgentGetsNoNewJobs) {
  const auto agent = Attach(a_);
  v1::AgentMessage leaving;
  leaving.mutable_going_away()->set_reason("maintenance");
  Say(agent, std::move(leaving));
  Submit(MakeSpec("cpu_gemm"));
  EXPECT_EQ(agent->Count(Kind::kAssign), 0);
}

TEST_F(SessionTest, WatchersHearOfEveryChange) {
  const auto agent = Attach(a_);
  const v1::Campaign campaign = Submit(MakeSpec("cpu_gemm"));
  int notified = 0;
  coordinator->watchers().Subscribe(campaign.campaign_id(), [&] { ++notified; });
  Complete(agent, AssignedTo(agent));
  EXPECT_GE(notified, 3);  // The result, the job's end, the verdict.
}

}  // namespace
}  // namespace assay::coordinator
