// Tests which attempts are lost, and who is blamed, if the coordinator or its database was away.
#include <gmock/gmock.h>

#include "coordinator/core/sessions/session.h"
#include "tests/unit/coordinator/fleet_fixture.h"

namespace assay::coordinator {
namespace {

using ::testing::HasSubstr;

// An agent that gave its job up while the coordinator was away, and is not back.
class AbsenceTest : public FleetOfTwo {
 protected:
  // Runs on a_, whose agent is heard for as long as a start calls for.
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

TEST_F(AbsenceTest, OfACoordinatorThatRestartedIsNoNodesFault) {
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

TEST_F(AbsenceTest, OfACoordinatorThatStoodStillIsNoNodesFault) {
  Begin();
  clock.Advance(std::chrono::minutes(5));
  a->session->OnClosed();
  executor->RunReady();
  executor->Advance(std::chrono::seconds(40));
  const v1::Failure failure = FailureOf(campaign);
  EXPECT_EQ(failure.failure_class(), v1::FAILURE_CLASS_INFRASTRUCTURE);
  EXPECT_EQ(failure.reason(), v1::REASON_LEASE_LOST);
  EXPECT_EQ(failure.node_id(), "");
  EXPECT_THAT(failure.message(), HasSubstr("the agent of node a has not spoken of the job for 5m"));
}

// A message that arrived before the agent left is read when the coordinator continues.
TEST_F(AbsenceTest, ExcusesAnAgentThatIsHeardOnceMore) {
  Begin();
  clock.Advance(std::chrono::minutes(5));
  executor->RunReady();
  SayState(a, {EpochOf(job)});
  a->session->OnClosed();
  executor->Advance(std::chrono::seconds(40));
  EXPECT_EQ(FailureOf(campaign).reason(), v1::REASON_LEASE_LOST);
  EXPECT_EQ(FailureOf(campaign).node_id(), "");
}

TEST_F(AbsenceTest, DoesNotExcuseAnAgentInSessionThatStaysSilent) {
  Begin();
  clock.Advance(std::chrono::minutes(5));
  executor->RunReady();
  executor->Advance(std::chrono::seconds(40));
  EXPECT_EQ(FailureOf(campaign).reason(), v1::REASON_AGENT_LOST);
  EXPECT_EQ(FailureOf(campaign).node_id(), a_.description().node_id());
}

TEST_F(AbsenceTest, DoesNotExcuseAnAgentThatLeftBefore) {
  Begin();
  a->session->OnClosed();
  executor->Advance(std::chrono::seconds(25));
  clock.Advance(std::chrono::minutes(5));
  executor->RunReady();
  executor->Advance(std::chrono::seconds(40));
  EXPECT_EQ(FailureOf(campaign).reason(), v1::REASON_AGENT_LOST);
}

TEST_F(AbsenceTest, OfADatabaseExcusesAnAgentThatGaveUp) {
  Begin();
  executor->Advance(std::chrono::seconds(28));
  jobs.away = true;
  executor->Advance(std::chrono::seconds(28));
  SayFinished(a, job, v1::FAILURE_CLASS_INFRASTRUCTURE, v1::REASON_LEASE_LOST);
  executor->Advance(std::chrono::seconds(10));
  jobs.away = false;
  executor->Advance(std::chrono::seconds(10));
  EXPECT_EQ(FailureOf(campaign).reason(), v1::REASON_LEASE_LOST);
  EXPECT_EQ(FailureOf(campaign).node_id(), "");
}

// Its session ended meanwhile, and Hello is not answered while the database is away.
TEST_F(AbsenceTest, OfADatabaseExcusesAnAgentThatIsNotBack) {
  Begin();
  jobs.away = true;
  executor->Advance(std::chrono::seconds(28));
  a->session->OnClosed();
  executor->Advance(std::chrono::minutes(3));
  jobs.away = false;
  executor->Advance(std::chrono::seconds(40));
  EXPECT_EQ(FailureOf(campaign).reason(), v1::REASON_LEASE_LOST);
  EXPECT_EQ(FailureOf(campaign).failure_class(), v1::FAILURE_CLASS_INFRASTRUCTURE);
  EXPECT_EQ(FailureOf(campaign).node_id(), "");
}

TEST_F(AbsenceTest, OfADatabaseDoesNotExcuseAnAgentThatLeftBefore) {
  Begin();
  a->session->OnClosed();
  executor->Advance(std::chrono::seconds(25));
  jobs.away = true;
  executor->Advance(std::chrono::minutes(3));
  jobs.away = false;
  executor->Advance(std::chrono::seconds(40));
  EXPECT_EQ(FailureOf(campaign).reason(), v1::REASON_AGENT_LOST);
}

// Read before the poll that is late.
TEST_F(AbsenceTest, ExcusesAnAgentThatGaveUp) {
  Begin();
  clock.Advance(std::chrono::seconds(40));
  SayFinished(a, job, v1::FAILURE_CLASS_INFRASTRUCTURE, v1::REASON_LEASE_LOST);
  EXPECT_EQ(FailureOf(campaign).reason(), v1::REASON_LEASE_LOST);
  EXPECT_EQ(FailureOf(campaign).node_id(), "");
}

TEST_F(AbsenceTest, ExcusesAnAgentThatGaveUpAndComesBackLate) {
  Begin();
  Restart();
  executor->Advance(std::chrono::seconds(33));
  a = Attach(a_);
  SayFinished(a, job, v1::FAILURE_CLASS_INFRASTRUCTURE, v1::REASON_LEASE_LOST);
  EXPECT_EQ(FailureOf(campaign).reason(), v1::REASON_LEASE_LOST);
  EXPECT_EQ(FailureOf(campaign).node_id(), "");
}

TEST_F(AbsenceTest, IsNotWhatAnAgentAloneMissed) {
  Begin();
  executor->Advance(std::chrono::seconds(28));
  SayFinished(a, job, v1::FAILURE_CLASS_INFRASTRUCTURE, v1::REASON_LEASE_LOST);
  EXPECT_EQ(FailureOf(campaign).node_id(), a_.description().node_id());
}

// The other gives its own jobs up, and knows whether an agent is gone.
TEST_F(AbsenceTest, OfAnotherCoordinatorShowsWhenItDoesNotEndItsJobs) {
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

TEST_F(AbsenceTest, OfAnAgentThatIsNowWithAnotherCoordinatorIsNone) {
  Begin();
  const std::unique_ptr<Coordinator> before = std::move(coordinator);
  const std::unique_ptr<ManualExecutor> its_executor = std::move(executor);
  Restart();
  a->session->OnClosed();
  its_executor->RunReady();
  const auto moved = Attach(a_);
  for (int second = 0; second < 90; second += 5) {
    SayState(moved, {EpochOf(job)});
    executor->Advance(std::chrono::seconds(5));
    its_executor->RunReady();
  }
  Complete(moved, job);
  EXPECT_EQ(Campaign(campaign).jobs().succeeded(), 1);
  a->session.reset();
}

// It said that it was done, and nobody could write that down.
TEST_F(AbsenceTest, OfADatabaseDoesNotKeepTheJobOfAnAgentThatFinishedAndLeft) {
  Begin();
  jobs.away = true;
  Complete(a, job);
  a->session->OnClosed();
  executor->Advance(std::chrono::seconds(10));
  jobs.away = false;
  executor->Advance(std::chrono::minutes(2));
  EXPECT_EQ(Campaign(campaign).jobs().running(), 0);
  EXPECT_EQ(FailureOf(campaign).reason(), v1::REASON_LEASE_LOST);
}

// By a result of the spool alone.
TEST_F(AbsenceTest, OfACoordinatorDoesNotKeepTheJobOfAnAgentThatLeft) {
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
