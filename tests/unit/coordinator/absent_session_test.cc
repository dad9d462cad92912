// Tests which attempts end, and which nodes are blamed, after the coordinator or its database was
// away.
#include <gtest/gtest.h>

#include "coordinator/core/sessions/session.h"
#include "tests/unit/coordinator/fleet_fixture.h"

namespace assay::coordinator {
namespace {

class AbsenceTest : public FleetOfTwo {
 protected:
  // A job runs on a_, and its agent is heard until the grace period of the start is over.
  void Begin() {
    a = Attach(a_);
    campaign = Submit(MakeSpec("cpu_gemm"));
    job = AssignedTo(a);
    for (const int seconds : {20, 20}) {
      executor->Advance(std::chrono::seconds(seconds));
      SayState(a, {EpochOf(job)});
    }
  }

  std::shared_ptr<FakeAgent> a;
  v1::Campaign campaign;
  v1::JobSpec job;
};

TEST_F(AbsenceTest, RestartOfTheCoordinatorBlamesNoNode) {
  Begin();
  clock.Advance(std::chrono::minutes(1));
  Restart();
  executor->Advance(std::chrono::seconds(29));
  EXPECT_EQ(Campaign(campaign).jobs().running(), 1);
  executor->Advance(std::chrono::seconds(10));
  EXPECT_EQ(FailureOf(campaign).failure_class(), v1::FAILURE_CLASS_INFRASTRUCTURE);
  EXPECT_EQ(FailureOf(campaign).reason(), v1::REASON_LEASE_LOST);
  EXPECT_EQ(FailureOf(campaign).node_id(), "");
}

TEST_F(AbsenceTest, SuspendedCoordinatorWaitsForAgentsToComeBack) {
  Begin();
  clock.Advance(std::chrono::minutes(5));
  a->session->OnClosed();
  executor->RunReady();
  executor->Advance(std::chrono::seconds(85));
  EXPECT_EQ(Campaign(campaign).jobs().running(), 1);
  SayFinished(Attach(a_), job, v1::REASON_LEASE_LOST);
  EXPECT_EQ(FailureOf(campaign).failure_class(), v1::FAILURE_CLASS_INFRASTRUCTURE);
  EXPECT_EQ(FailureOf(campaign).reason(), v1::REASON_LEASE_LOST);
  EXPECT_EQ(FailureOf(campaign).node_id(), "");
}

TEST_F(AbsenceTest, SuspendedCoordinatorBlamesAnAgentThatDoesNotComeBack) {
  Begin();
  clock.Advance(std::chrono::minutes(5));
  a->session->OnClosed();
  executor->Advance(std::chrono::seconds(100));
  EXPECT_EQ(FailureOf(campaign).reason(), v1::REASON_AGENT_LOST);
  EXPECT_EQ(FailureOf(campaign).node_id(), a_.description().node_id());
}

// Its session ended meanwhile, and Hello is not answered while the database is away.
TEST_F(AbsenceTest, OutageOfTheDatabaseGivesAgentsTimeToComeBack) {
  Begin();
  jobs.away = true;
  executor->Advance(std::chrono::seconds(28));
  a->session->OnClosed();
  executor->Advance(std::chrono::minutes(3));
  jobs.away = false;
  executor->Advance(std::chrono::seconds(80));
  EXPECT_EQ(Campaign(campaign).jobs().running(), 1);
  executor->Advance(std::chrono::seconds(20));
  EXPECT_EQ(FailureOf(campaign).reason(), v1::REASON_AGENT_LOST);
}

TEST_F(AbsenceTest, AgentThatGaveUpDuringAnOutageBlamesNoNode) {
  Begin();
  executor->Advance(std::chrono::seconds(22));
  jobs.away = true;
  executor->Advance(std::chrono::seconds(28));
  SayFinished(a, job, v1::REASON_LEASE_LOST);
  executor->Advance(std::chrono::seconds(10));
  jobs.away = false;
  executor->Advance(std::chrono::seconds(10));
  EXPECT_EQ(FailureOf(campaign).reason(), v1::REASON_LEASE_LOST);
  EXPECT_EQ(FailureOf(campaign).node_id(), "");
}

// A coordinator that is there ends its own jobs.
TEST_F(AbsenceTest, JobsOfASuspendedCoordinatorAreEndedByAnother) {
  Begin();
  const std::unique_ptr<Coordinator> other = std::move(coordinator);
  const std::unique_ptr<ManualExecutor> frozen = std::move(executor);
  Restart();
  for (int second = 0; second < 33; second += 3) {
    executor->Advance(std::chrono::seconds(3));
  }
  EXPECT_EQ(Campaign(campaign).jobs().running(), 1) << "expired for less than two polls";
  executor->Advance(std::chrono::seconds(6));
  EXPECT_EQ(FailureOf(campaign).reason(), v1::REASON_LEASE_LOST);
  a->session.reset();
}

TEST_F(AbsenceTest, JobThatFinishedDuringAnOutageEndsWithoutItsAgent) {
  Begin();
  jobs.away = true;
  Complete(a, job);
  a->session->OnClosed();
  executor->Advance(std::chrono::seconds(10));
  jobs.away = false;
  executor->Advance(std::chrono::minutes(3));
  EXPECT_EQ(Campaign(campaign).jobs().running(), 0);
  EXPECT_EQ(FailureOf(campaign).reason(), v1::REASON_LEASE_LOST);
}

TEST_F(AbsenceTest, JobOfAnAgentThatSentOnlyAResultAfterARestartEnds) {
  Begin();
  Restart();
  a = Attach(a_);
  SayResult(a, ResultOf(job, 0));
  a->session->OnClosed();
  executor->Advance(std::chrono::minutes(2));
  EXPECT_EQ(Campaign(campaign).jobs().running(), 0);
  EXPECT_EQ(FailureOf(campaign).reason(), v1::REASON_LEASE_LOST);
}

}  // namespace
}  // namespace assay::coordinator
