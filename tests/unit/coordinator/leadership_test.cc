// Tests two coordinators on one database.
#include "coordinator/core/leadership.h"

#include <gtest/gtest.h>

#include "tests/unit/coordinator/fleet_fixture.h"

namespace assay::coordinator {
namespace {

class LeadershipTest : public FleetOfTwo {
 protected:
  void SetUp() override {
    other = MakeCoordinator({"other-host", "10.0.0.2:7900"});
    executor->RunReady();
  }

  // Destroys the leader without a word, as kill -9 does.
  void KillLeader() {
    for (const auto& agent : agents) agent->session.reset();
    coordinator->Shutdown(Duration(0));
    coordinator = nullptr;
  }

  std::unique_ptr<Coordinator> other;
};

TEST_F(LeadershipTest, OnlyOneCoordinatorLeads) {
  EXPECT_TRUE(coordinator->leadership().IsLeader());
  EXPECT_FALSE(other->leadership().IsLeader());
  executor->Advance(std::chrono::minutes(5));
  EXPECT_TRUE(coordinator->leadership().IsLeader());
  EXPECT_FALSE(other->leadership().IsLeader());
}

TEST_F(LeadershipTest, AFollowerSendsAgentsToTheLeader) {
  other->Shutdown(Duration(0));
  coordinator->Shutdown(Duration(0));
  coordinator = MakeCoordinator({"host", "10.0.0.1:7900"});
  other = MakeCoordinator({"other-host", "10.0.0.2:7900"});
  const auto agent = Attach(a_, *other);
  ASSERT_NE(agent->Last(Kind::kReconnect), nullptr);
  EXPECT_EQ(agent->Last(Kind::kReconnect)->reconnect().address(), "10.0.0.1:7900");
  ASSERT_TRUE(agent->closed);
  EXPECT_EQ(agent->closed->reason(), Reason::kOtherCoordinator);
  EXPECT_EQ(agent->Last(Kind::kHelloAck), nullptr);
}

TEST_F(LeadershipTest, ACampaignGivenToAFollowerRunsAtTheLeader) {
  const auto agent = Attach(a_);
  v1::CreateCampaignRequest request;
  *request.mutable_spec() = MakeSpec("cpu_gemm");
  const auto campaign = other->CreateCampaign(request);
  ASSERT_TRUE(campaign.ok()) << campaign.status();
  executor->Advance(std::chrono::seconds(4));
  Complete(agent, AssignedTo(agent));
  EXPECT_EQ(Campaign(*campaign).verdict(), v1::VERDICT_PASSED);
}

TEST_F(LeadershipTest, AFollowerTakesOverWhenTheLeaderHandsOver) {
  coordinator->Shutdown(Duration(0));
  executor->Advance(std::chrono::seconds(4));
  EXPECT_TRUE(other->leadership().IsLeader());
}

TEST_F(LeadershipTest, AFollowerTakesOverAfterALeaseOfSilence) {
  // The leader is suspended: another process holds its row, and nobody extends it.
  const auto agent = Attach(a_);
  const v1::Campaign campaign = Submit(MakeSpec("cpu_gemm"));
  const v1::JobSpec job = AssignedTo(agent);
  const int64_t term = coordinator->leadership().Term();
  KillLeader();
  ASSERT_TRUE(fleet.Elect("dead process", "10.0.0.1:7900", std::chrono::seconds(30)).ok());
  executor->Advance(std::chrono::seconds(20));
  EXPECT_FALSE(other->leadership().IsLeader());
  executor->Advance(std::chrono::seconds(14));
  EXPECT_TRUE(other->leadership().IsLeader());
  EXPECT_GT(other->leadership().Term(), term);
  // The job goes on with the agent, which has come over.
  const auto again = Attach(a_, *other);
  SayState(again, {EpochOf(job)});
  Complete(again, job);
  EXPECT_EQ(Campaign(campaign).verdict(), v1::VERDICT_PASSED);
  EXPECT_EQ(jobs.ListJobs(campaign.campaign_id(), {})->items[0].attempts(), 1);
}

TEST_F(LeadershipTest, ADeposedLeaderStepsDown) {
  const auto agent = Attach(a_);
  const v1::Campaign campaign = Submit(MakeSpec("cpu_gemm"));
  const v1::JobSpec job = AssignedTo(agent);
  // It was suspended for so long that its lease ended, and another was elected.
  clock.Advance(std::chrono::minutes(1));
  ASSERT_EQ(fleet.Elect("another", "10.0.0.3:7900", std::chrono::seconds(30))->owner, "another");
  // Its statements have no effect any more.
  SayFinished(agent, job, v1::REASON_RUNNER_CRASHED);
  EXPECT_EQ(Campaign(campaign).jobs().running(), 1);
  executor->Advance(std::chrono::seconds(4));
  EXPECT_FALSE(coordinator->leadership().IsLeader());
  ASSERT_NE(agent->Last(Kind::kReconnect), nullptr);
  EXPECT_EQ(agent->Last(Kind::kReconnect)->reconnect().address(), "10.0.0.3:7900");
  EXPECT_EQ(agent->Last(Kind::kCancel), nullptr) << "the other coordinator leads the job";
  EXPECT_EQ(Campaign(campaign).jobs().running(), 1);
}

TEST_F(LeadershipTest, AProcessInTheSeatOfTheLeaderReplacesItAtOnce) {
  const int64_t term = coordinator->leadership().Term();
  Restart();
  EXPECT_TRUE(coordinator->leadership().IsLeader());
  EXPECT_GT(coordinator->leadership().Term(), term);
}

}  // namespace
}  // namespace assay::coordinator
