// Gangs whose nodes are not ready in time: which nodes are blamed, and where the job is tried next.
#include <gtest/gtest.h>

#include "coordinator/core/sessions/session.h"
#include "tests/unit/coordinator/fleet_fixture.h"
#include "tests/wording.h"

namespace assay::coordinator {
namespace {

using GangNotReadyTest = FleetOfTwo;

TEST_F(GangNotReadyTest, GangThatIsNotReadyInTimeFreesItsNodes) {
  const auto a = Attach(a_);
  const auto b = Attach(b_);
  const v1::Campaign campaign = Submit(MakeSpec("tcp_all_reduce"));
  const v1::JobSpec job = AssignedTo(a);
  SayReady(a, job, "token");
  for (int second = 0; second < 81; second += 3) {
    clock.Advance(std::chrono::seconds(3));
    executor->RunReady();
    for (const auto& agent : {a, b}) SayState(agent, {EpochOf(job)});
    if (second < 69) {
      ASSERT_EQ(Campaign(campaign).jobs().running(), 1) << second;
    }
  }
  EXPECT_EQ(Campaign(campaign).jobs().failed(), 1);
  const v1::Failure failure = FailureOf(campaign);
  EXPECT_EQ(failure.reason(), v1::REASON_GANG_NOT_READY);
  EXPECT_EQ(failure.failure_class(), v1::FAILURE_CLASS_NODE);
  EXPECT_EQ(failure.node_id(), b_.description().node_id());
  EXPECT_WORDING("coordinator/gang-not-ready", failure.message());
  for (const auto& agent : {a, b}) {
    ASSERT_NE(agent->Last(Kind::kCancel), nullptr);
    EXPECT_EQ(agent->Last(Kind::kCancel)->cancel().job_id(), job.job_id());
  }
}

// A gang on three of five nodes, one of which is ready.
class SeveralLateTest : public FleetOfTwo {
 protected:
  SeveralLateTest() {
    for (const char digit : {'1', '2', '3', '4', '5'}) {
      all.push_back(
          Attach(MakeFleetNode(std::string(1, static_cast<char>('a' + digit - '1')), digit, 0)));
    }
    v1::CampaignSpec spec = MakeSpec("tcp_all_reduce");
    spec.set_placement(v1::PLACEMENT_POLICY_ANY);
    spec.set_retries(1);
    AddAxis(*spec.mutable_benchmarks(0), "ranks", {"3"});
    campaign = Submit(spec);
    job = AssignedTo(all[0]);
    SayReady(all[0], job, "token");
  }
  void Wait(int seconds) {
    for (int second = 0; second < seconds; second += 3) {
      for (const int member : {0, 1, 2}) SayState(all[member], {EpochOf(job)});
      for (const int idle : {3, 4}) SayState(all[idle], {});
      executor->Advance(std::chrono::seconds(3));
    }
  }
  void ExpectWithoutTheLate() {
    EXPECT_EQ(AssignedTo(all[0]).epoch(), job.epoch() + 1);
    for (const int late : {1, 2}) {
      EXPECT_NE(AssignedTo(all[late]).epoch(), job.epoch() + 1) << late;
    }
    for (const int fresh : {3, 4}) EXPECT_EQ(all[fresh]->Count(Kind::kAssign), 1) << fresh;
  }

  std::vector<std::shared_ptr<FakeAgent>> all;
  v1::Campaign campaign;
  v1::JobSpec job;
};

TEST_F(SeveralLateTest, AllLateNodesAreAvoidedAfterGangNotReady) {
  Wait(81);
  const v1::Failure failure = FailureOf(campaign);
  EXPECT_EQ(failure.reason(), v1::REASON_GANG_NOT_READY);
  EXPECT_EQ(failure.node_id(), b_.description().node_id());
  ExpectWithoutTheLate();
}

TEST_F(SeveralLateTest, AllLateNodesAreAvoidedAfterTimeout) {
  Wait(39);
  SayFinished(all[0], job, v1::REASON_TIMEOUT);
  const v1::Failure failure = FailureOf(campaign);
  EXPECT_EQ(failure.failure_class(), v1::FAILURE_CLASS_NODE);
  EXPECT_EQ(failure.node_id(), b_.description().node_id());
  ExpectWithoutTheLate();
}

// Three nodes; one gets ready late or never, and the job's time is shorter than the gang's.
class GangTimeoutTest : public FleetOfTwo {
 protected:
  // The job's failure after agent a said TIMEOUT, 40 s from the assignment. `ready` seconds from
  // there it was ready.
  v1::Failure FailureIfReady(std::optional<int> ready) {
    v1::CampaignSpec spec = MakeSpec("tcp_all_reduce");
    spec.set_placement(v1::PLACEMENT_POLICY_ANY);
    spec.set_retries(1);
    const v1::Campaign campaign = Submit(spec);
    job_ = AssignedTo(a);
    EXPECT_EQ(AssignedTo(b).job_id(), job_.job_id());
    for (int second = 0; second < 40; second += 4) {
      if (ready && *ready == second) SayReady(a, job_, "token");
      for (const auto& agent : {a, b}) SayState(agent, {EpochOf(job_)});
      SayState(c, {});
      executor->Advance(std::chrono::seconds(4));
    }
    SayFinished(a, job_, v1::REASON_TIMEOUT);
    return FailureOf(campaign);
  }

  std::shared_ptr<FakeAgent> a = Attach(a_);
  std::shared_ptr<FakeAgent> b = Attach(b_);
  std::shared_ptr<FakeAgent> c = Attach(MakeFleetNode("c", '3', 0));
  v1::JobSpec job_;
};

TEST_F(GangTimeoutTest, NodeThatWasNotReadyIsBlamed) {
  const v1::Failure failure = FailureIfReady(8);
  EXPECT_EQ(failure.reason(), v1::REASON_TIMEOUT);
  EXPECT_EQ(failure.failure_class(), v1::FAILURE_CLASS_NODE);
  EXPECT_EQ(failure.node_id(), b_.description().node_id());
  EXPECT_EQ(AssignedTo(a).epoch(), job_.epoch() + 1);
  EXPECT_EQ(b->Count(Kind::kAssign), 1);
  EXPECT_EQ(c->Count(Kind::kAssign), 1);
}

TEST_F(GangTimeoutTest, NoNodeIsBlamedIfTheOtherWasSlowAsWell) {
  const v1::Failure failure = FailureIfReady(20);
  EXPECT_EQ(failure.failure_class(), v1::FAILURE_CLASS_JOB);
  EXPECT_EQ(b->Count(Kind::kAssign), 2);
}

TEST_F(GangTimeoutTest, NoNodeIsBlamedIfNoneWasReady) {
  const v1::Failure failure = FailureIfReady(std::nullopt);
  EXPECT_EQ(failure.failure_class(), v1::FAILURE_CLASS_JOB);
}

TEST_F(GangTimeoutTest, NoNodeIsBlamedIfTheCoordinatorWasSuspended) {
  const v1::Campaign campaign = Submit(MakeSpec("tcp_all_reduce"));
  const v1::JobSpec job = AssignedTo(a);
  SayReady(a, job, "token");
  for (const int seconds : {20, 20}) {
    executor->Advance(std::chrono::seconds(seconds));
    for (const auto& agent : {a, b}) SayState(agent, {EpochOf(job)});
  }
  clock.Advance(std::chrono::seconds(100));
  SayFinished(a, job, v1::REASON_TIMEOUT);
  EXPECT_EQ(FailureOf(campaign).failure_class(), v1::FAILURE_CLASS_JOB);
}

}  // namespace
}  // namespace assay::coordinator
