// Tests results that arrive after their attempt is over, and the policy for planned ends.
#include <gtest/gtest.h>

#include "common/uuid.h"
#include "tests/unit/coordinator/fleet_fixture.h"

namespace assay::coordinator {
namespace {

class LateResultTest : public FleetOfTwo {
 protected:
  v1::Job JobOf(const v1::Campaign& campaign) {
    return jobs.ListJobs(campaign.campaign_id(), {})->items[0];
  }
  v1::ResultAck::Verdict VerdictOf(const std::shared_ptr<FakeAgent>& agent) {
    const v1::CoordinatorMessage* ack = agent->Last(Kind::kResultAck);
    return ack == nullptr ? v1::ResultAck::VERDICT_UNSPECIFIED : ack->result_ack().verdict();
  }

  // The agent gets a job of two cases and falls silent for longer than its lease.
  v1::JobSpec LoseAgentOf(const v1::CampaignSpec& spec) {
    const auto agent = Attach(a_);
    campaign = Submit(spec);
    const v1::JobSpec job = AssignedTo(agent);
    for (const int seconds : {20, 20}) {
      executor->Advance(std::chrono::seconds(seconds));
      SayState(agent, {EpochOf(job)});
    }
    agent->session->OnClosed();
    executor->Advance(std::chrono::seconds(48));
    EXPECT_EQ(JobOf(campaign).failure().reason(), v1::REASON_AGENT_LOST);
    return job;
  }

  v1::Campaign campaign;
};

TEST_F(LateResultTest, ResultsOfALostAgentMendItsJob) {
  const v1::JobSpec job = LoseAgentOf(MakeSpec("cpu_gemm"));
  EXPECT_EQ(Campaign(campaign).verdict(), v1::VERDICT_FAILED);
  const auto agent = Attach(a_);
  for (int i = 0; i < job.cases_size(); ++i) {
    EXPECT_EQ(JobOf(campaign).state(), v1::JOB_STATE_FAILED);
    SayResult(agent, ResultOf(job, i));
    EXPECT_EQ(VerdictOf(agent), v1::ResultAck::VERDICT_STORED);
  }
  EXPECT_EQ(JobOf(campaign).state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(Campaign(campaign).verdict(), v1::VERDICT_PASSED);
  EXPECT_EQ(JobOf(campaign).attempts(), 1);
}

TEST_F(LateResultTest, AQueuedJobRunsOnlyWhatIsLeft) {
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  v1::ValueList* sizes = spec.mutable_benchmarks(0)->mutable_axes(0)->mutable_list();
  sizes->clear_values();
  for (const char* size : {"256", "512"}) sizes->add_values(size);
  spec.set_retries(1);
  const v1::JobSpec job = LoseAgentOf(spec);
  ASSERT_EQ(job.cases_size(), 2);
  EXPECT_EQ(JobOf(campaign).state(), v1::JOB_STATE_QUEUED);
  // The results come first, and then the node is free for the next attempt.
  const auto agent = Connect(a_);
  v1::AgentMessage hello;
  *hello.mutable_hello()->mutable_node() = a_.description();
  hello.mutable_hello()->set_protocol_revision(1);
  v1::AgentMessage result;
  *result.mutable_case_result() = ResultOf(job, 0);
  agent->session->OnMessage(std::move(hello));
  agent->session->OnMessage(std::move(result));
  executor->Advance(std::chrono::seconds(40));
  const v1::JobSpec next = AssignedTo(agent);
  EXPECT_EQ(next.epoch(), job.epoch() + 1);
  if (VerdictOf(agent) == v1::ResultAck::VERDICT_STORED) {
    ASSERT_EQ(next.cases_size(), 1);
    EXPECT_EQ(next.cases(0).case_index(), job.cases(1).case_index());
  }
}

TEST_F(LateResultTest, ResultsOfAnEarlierAttemptAreStale) {
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  spec.set_retries(1);
  const v1::JobSpec job = LoseAgentOf(spec);
  const auto agent = Attach(a_);
  executor->Advance(std::chrono::seconds(40));
  ASSERT_EQ(AssignedTo(agent).epoch(), job.epoch() + 1);
  SayResult(agent, ResultOf(job, 0));
  EXPECT_EQ(VerdictOf(agent), v1::ResultAck::VERDICT_STALE);
}

TEST_F(LateResultTest, AnAgentCannotMendWhatItFailedItself) {
  const auto agent = Attach(a_);
  const v1::Campaign failed = Submit(MakeSpec("cpu_gemm"));
  const v1::JobSpec job = AssignedTo(agent);
  SayFinished(agent, job, v1::REASON_RUNNER_CRASHED);
  ASSERT_EQ(JobOf(failed).state(), v1::JOB_STATE_FAILED);
  for (int i = 0; i < job.cases_size(); ++i) SayResult(agent, ResultOf(job, i));
  EXPECT_EQ(VerdictOf(agent), v1::ResultAck::VERDICT_STALE);
  EXPECT_EQ(JobOf(failed).state(), v1::JOB_STATE_FAILED);
}

TEST_F(LateResultTest, AnAgentThatNeverEndsItsJobLosesIt) {
  const auto agent = Attach(a_);
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  spec.mutable_timeout()->set_seconds(60);
  const v1::Campaign endless = Submit(spec);
  const v1::JobSpec job = AssignedTo(agent);
  for (int minute = 0; minute < 8 * 6; ++minute) {
    SayState(agent, {EpochOf(job)});
    executor->Advance(std::chrono::seconds(10));
  }
  EXPECT_EQ(FailureOf(endless).reason(), v1::REASON_TIMEOUT);
}

TEST_F(LateResultTest, ANodeOutsideTheJobCannotMendIt) {
  const v1::JobSpec job = LoseAgentOf(MakeSpec("cpu_gemm"));
  const auto stranger = Attach(b_);
  for (int i = 0; i < job.cases_size(); ++i) SayResult(stranger, ResultOf(job, i));
  EXPECT_EQ(VerdictOf(stranger), v1::ResultAck::VERDICT_STALE);
  EXPECT_EQ(JobOf(campaign).state(), v1::JOB_STATE_FAILED);
}

TEST_F(LateResultTest, AResultOfAnUnknownJobIsNotForgotten) {
  const auto agent = Attach(a_);
  v1::CaseResult result;
  result.set_job_id(NewUuid());
  result.set_epoch(1);
  SayResult(agent, result);
  EXPECT_EQ(VerdictOf(agent), v1::ResultAck::VERDICT_UNKNOWN_JOB);
}

TEST_F(LateResultTest, AnAgentThatHandsItsJobBackCostsNoRetry) {
  const auto a = Attach(a_);
  const v1::Campaign handed = Submit(MakeSpec("cpu_gemm"));
  const v1::JobSpec job = AssignedTo(a);
  v1::AgentMessage leaving;
  leaving.mutable_going_away()->set_reason("ends");
  Say(a, std::move(leaving));
  SayFinished(a, job, v1::REASON_AGENT_STOPPED);
  EXPECT_EQ(JobOf(handed).state(), v1::JOB_STATE_QUEUED);
  a->session->OnClosed();
  executor->RunReady();
  const auto again = Attach(a_);
  executor->Advance(std::chrono::seconds(4));
  Complete(again, AssignedTo(again));
  EXPECT_EQ(Campaign(handed).verdict(), v1::VERDICT_PASSED);
}

TEST_F(LateResultTest, AgentsGoOnForFiveMinutesWithoutACoordinator) {
  const auto agent = Attach(a_);
  Submit(MakeSpec("cpu_gemm"));
  EXPECT_GE(agent->Last(Kind::kAssign)->assign().lease().seconds(), 300);
  SayState(agent, {EpochOf(AssignedTo(agent))});
  EXPECT_GE(agent->Last(Kind::kLeaseRenewal)->lease_renewal().lease().seconds(), 300);
}

}  // namespace
}  // namespace assay::coordinator
