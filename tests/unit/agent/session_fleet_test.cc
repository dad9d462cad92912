// The session with coordinators that come and go: schemas by hash, several fleets, verdicts that
// keep a result, the check of the node, and the end of the agent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/unit/agent/session_fixture.h"
#include "wire/benchmark_schema.h"

namespace assay::agent {
namespace {

namespace fs = std::filesystem;

using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;
using Kind = v1::AgentMessage;

class SessionFleetTest : public SessionTest {
 protected:
  void MakeSpoolOlder(Duration age) {
    spool_->Flush();
    for (const auto& file : fs::directory_iterator(folder_.path() + "/spool")) {
      fs::last_write_time(file.path(), fs::file_time_type::clock::now() - age);
    }
  }

  static v1::CoordinatorMessage CheckNode() {
    v1::CoordinatorMessage message;
    message.mutable_check_node();
    return message;
  }

  void HandBack() {
    session_->HandBack("stopping", [this] { ++ends_; });
    executor_.RunDue();
  }

  int ends_ = 0;  // Number of times that the end of the hand-back was reported.
};

TEST_F(SessionFleetTest, SchemasAreSentOnlyToACoordinatorThatAsks) {
  const auto link = Connect();
  const v1::Hello hello = link->Take()[0].hello();
  EXPECT_THAT(hello.node().benchmarks(), IsEmpty());
  v1::CoordinatorMessage ask;
  ask.mutable_send_schemas();
  Deliver(link, ask);
  ASSERT_THAT(link->sent, SizeIs(1)) << "asked before HelloAck";
  EXPECT_THAT(link->sent[0].schemas().benchmarks(), SizeIs(2));
  EXPECT_EQ(hello.schemas_hash(), schema::SchemasHash(link->sent[0].schemas()));
}

TEST_F(SessionFleetTest, ReconnectNamesACoordinatorByHostAndPort) {
  for (const auto& [text, address] : std::map<std::string, std::string>{
           {"10.0.0.2:7900", "10.0.0.2:7900"}, {"nonsense", ""}, {"host:0", ""}, {"", ""}}) {
    const auto link = Connect();
    v1::CoordinatorMessage message;
    message.mutable_reconnect()->set_address(text);
    Deliver(link, message);
    ASSERT_TRUE(link->reconnect);
    EXPECT_EQ(link->reconnect->address, address);
  }
}

TEST_F(SessionFleetTest, ResultsGoOnlyToTheFleetThatAssignedTheJob) {
  Deliver(GoLive(), Assign("job", 1));
  Report(launcher_.runs[0], 0);
  const auto stranger = GoLive("fleet-2");
  EXPECT_THAT(Only(stranger->sent, Kind::kState)[0].state().running_jobs(), IsEmpty());
  Report(launcher_.runs[0], 1);
  Finish(launcher_.runs[0]);
  EXPECT_THAT(Only(stranger->sent, Kind::kCaseResult), IsEmpty());
  EXPECT_THAT(Only(stranger->sent, Kind::kJobFinished), IsEmpty());
  for (const auto verdict : {v1::ResultAck::VERDICT_STORED, v1::ResultAck::VERDICT_STALE,
                             v1::ResultAck::VERDICT_REJECTED, v1::ResultAck::VERDICT_UNKNOWN_JOB}) {
    Deliver(stranger, Ack("job", 1, 0, verdict));
  }
  EXPECT_EQ(spool_->depth(), 2U) << "a stranger's word deletes nothing";
  const auto home = GoLive();
  EXPECT_THAT(Only(home->sent, Kind::kState)[0].state().running_jobs(), SizeIs(1));
  EXPECT_THAT(Only(home->sent, Kind::kCaseResult), SizeIs(2));
}

TEST_F(SessionFleetTest, FleetOfAResultSurvivesARestart) {
  Deliver(GoLive(), Assign("job", 1));
  Report(launcher_.runs[0], 0);
  StartAgent();
  EXPECT_THAT(Only(GoLive("fleet-2")->sent, Kind::kCaseResult), IsEmpty());
  EXPECT_THAT(Only(GoLive()->sent, Kind::kCaseResult), SizeIs(1));
}

TEST_F(SessionFleetTest, AnotherFleetCannotCancelReplaceOrExtendAJob) {
  Deliver(GoLive(), Assign("job", 1, 30s));
  const auto stranger = GoLive("fleet-2");
  Deliver(stranger, Assign("job", 1, 1h));
  Deliver(stranger, Assign("job", 2, 1h));
  v1::CoordinatorMessage cancel;
  cancel.mutable_cancel()->set_job_id("job");
  cancel.mutable_cancel()->set_epoch(1);
  Deliver(stranger, cancel);
  EXPECT_FALSE(launcher_.runs[0]->stopped);
  executor_.Advance(28s);
  ASSERT_TRUE(launcher_.runs[0]->stopped);
  EXPECT_EQ(launcher_.runs[0]->stopped->reason(), v1::REASON_LEASE_LOST);
}

TEST_F(SessionFleetTest, ResultOfAnUnknownJobIsKeptAndSentAgainInTheNextSession) {
  ASSERT_TRUE(spool_->Append(ResultOf("old", 1, 0), kFleet, [](const Status&) {}).ok());
  const auto link = GoLive();
  Deliver(link, Ack("old", 1, 0, v1::ResultAck::VERDICT_UNKNOWN_JOB));
  EXPECT_EQ(spool_->depth(), 1U);
  link->Take();
  executor_.Advance(30s);
  EXPECT_THAT(Only(link->sent, Kind::kCaseResult), IsEmpty()) << "not in this session";
  EXPECT_THAT(Only(GoLive()->sent, Kind::kCaseResult), SizeIs(1));
}

TEST_F(SessionFleetTest, UnknownJobIsReportedDespiteItsResults) {
  const auto link = GoLive();
  Deliver(link, Assign("job", 1));
  Report(launcher_.runs[0], 0);
  Finish(launcher_.runs[0]);
  EXPECT_THAT(Only(link->sent, Kind::kJobFinished), IsEmpty());
  Deliver(link, Ack("job", 1, 0, v1::ResultAck::VERDICT_UNKNOWN_JOB));
  EXPECT_THAT(Only(link->sent, Kind::kJobFinished), SizeIs(1));
}

TEST_F(SessionFleetTest, ResultOfAnUnknownJobIsDeletedAfterAWeek) {
  ASSERT_TRUE(spool_->Append(ResultOf("old", 1, 0), kFleet, [](const Status&) {}).ok());
  const auto link = GoLive();
  Deliver(link, Ack("old", 1, 0, v1::ResultAck::VERDICT_UNKNOWN_JOB));
  executor_.Advance(2h);
  EXPECT_EQ(spool_->depth(), 1U);
  MakeSpoolOlder(24h * 8);
  executor_.Advance(1h);
  EXPECT_EQ(spool_->depth(), 0U);
}

TEST_F(SessionFleetTest, OldResultIsDeletedOnlyIfItsJobIsUnknown) {
  ASSERT_TRUE(spool_->Append(ResultOf("old", 1, 0), kFleet, [](const Status&) {}).ok());
  ASSERT_TRUE(spool_->Append(ResultOf("old", 1, 1), "fleet-2", [](const Status&) {}).ok());
  MakeSpoolOlder(24h * 8);
  const auto link = GoLive();
  executor_.Advance(2h);
  EXPECT_EQ(spool_->depth(), 2U) << "not acknowledged yet";
  Deliver(link, Ack("old", 1, 0, v1::ResultAck::VERDICT_UNKNOWN_JOB));
  EXPECT_EQ(spool_->depth(), 1U);
}

TEST_F(SessionFleetTest, RejectedResultIsSetAside) {
  ASSERT_TRUE(spool_->Append(ResultOf("old", 1, 0), kFleet, [](const Status&) {}).ok());
  Deliver(GoLive(), Ack("old", 1, 0, v1::ResultAck::VERDICT_REJECTED));
  EXPECT_EQ(spool_->depth(), 0U);
  EXPECT_FALSE(fs::is_empty(folder_.path() + "/rejected"));
  StartAgent();
  EXPECT_THAT(Only(GoLive()->sent, Kind::kCaseResult), IsEmpty());
}

TEST_F(SessionFleetTest, ReconnectsWithinTwoHeartbeatsWhileItHoldsSomething) {
  EXPECT_FALSE(session_->ReconnectWithin());
  const auto link = GoLive();
  Deliver(link, Assign("a", 1, 60s));
  const std::optional<Duration> with_job = session_->ReconnectWithin();
  ASSERT_TRUE(with_job);
  EXPECT_LE(*with_job, Duration(10s));
  StartAgent();
  EXPECT_FALSE(session_->ReconnectWithin());
  ASSERT_TRUE(spool_->Append(ResultOf("old", 1, 0), kFleet, [](const Status&) {}).ok());
  EXPECT_TRUE(session_->ReconnectWithin());
}

TEST_F(SessionFleetTest, CheckOfTheNodeIsAnswered) {
  const auto link = GoLive();
  Deliver(link, CheckNode());
  Deliver(link, CheckNode());
  ASSERT_THAT(checks_, SizeIs(1)) << "one at a time";
  v1::NodeChecked checked;
  checked.mutable_failure()->set_reason(v1::REASON_RUNNER_UNUSABLE);
  checks_[0](checked);
  executor_.RunDue();
  const auto answers = Only(link->Take(), Kind::kNodeChecked);
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(answers[0].node_checked().failure().reason(), v1::REASON_RUNNER_UNUSABLE);
  Deliver(link, CheckNode());
  EXPECT_THAT(checks_, SizeIs(2));
}

TEST_F(SessionFleetTest, CheckOfTheNodeWaitsForTheEndOfAMeasurement) {
  const auto link = GoLive();
  Deliver(link, Assign("job", 1));
  Deliver(link, CheckNode());
  EXPECT_THAT(checks_, IsEmpty());
  Finish(launcher_.runs[0]);
  ASSERT_THAT(checks_, SizeIs(1));
  Deliver(link, Assign("next", 1));
  EXPECT_THAT(launcher_.runs, SizeIs(1)) << "a job waits for the end of the check";
  checks_[0]({});
  executor_.RunDue();
  EXPECT_THAT(launcher_.runs, SizeIs(2));
}

TEST_F(SessionFleetTest, CheckThatOutlivesItsSessionOrTheAgentIsDropped) {
  Deliver(GoLive(), CheckNode());
  const auto next = GoLive();
  checks_[0]({});
  executor_.RunDue();
  EXPECT_THAT(Only(next->sent, Kind::kNodeChecked), IsEmpty());
  Deliver(next, CheckNode());
  ASSERT_THAT(checks_, SizeIs(2));
  session_.reset();
  checks_[1]({});
  executor_.RunDue();
}

TEST_F(SessionFleetTest, IdleAgentLeavesAtOnce) {
  const auto link = GoLive();
  HandBack();
  EXPECT_EQ(Only(link->sent, Kind::kGoingAway)[0].going_away().reason(), "stopping");
  EXPECT_TRUE(link->closed);
  EXPECT_EQ(ends_, 1);
  EXPECT_TRUE(Connect()->closed) << "no further session";
}

TEST_F(SessionFleetTest, StoppingAgentHandsItsJobsBack) {
  const auto link = GoLive();
  Deliver(link, Assign("running", 1));
  Report(launcher_.runs[0], 0);
  v1::CoordinatorMessage gang = Assign("cancelled", 1);
  Deliver(link, gang);
  v1::CoordinatorMessage cancel;
  cancel.mutable_cancel()->set_job_id("cancelled");
  cancel.mutable_cancel()->set_epoch(1);
  Deliver(link, cancel);
  Deliver(link, Assign("waiting", 1));
  ASSERT_THAT(launcher_.runs, SizeIs(2)) << "the third waits for the cancelled job's end";
  link->Take();

  HandBack();
  const auto first = link->Take();
  ASSERT_FALSE(first.empty());
  EXPECT_TRUE(first[0].has_going_away()) << "before the job could be assigned here again";
  const auto waiting = Only(first, Kind::kJobFinished);
  ASSERT_THAT(waiting, SizeIs(1));
  EXPECT_EQ(waiting[0].job_finished().job_id(), "waiting");
  EXPECT_EQ(waiting[0].job_finished().failure().reason(), v1::REASON_AGENT_STOPPED);
  EXPECT_EQ(waiting[0].job_finished().failure().failure_class(), v1::FAILURE_CLASS_INFRASTRUCTURE);
  ASSERT_TRUE(launcher_.runs[0]->stopped);
  EXPECT_EQ(launcher_.runs[0]->stopped->reason(), v1::REASON_AGENT_STOPPED);
  Deliver(link, FinishedAck("waiting", 1));
  Finish(launcher_.runs[1]);
  Deliver(link, FinishedAck("cancelled", 1));

  JobOutcome stopped;
  stopped.failure = *launcher_.runs[0]->stopped;
  Finish(launcher_.runs[0], stopped);
  EXPECT_FALSE(link->closed) << "its result is not acknowledged yet";
  Deliver(link, Ack("running", 1, 0));
  EXPECT_FALSE(link->closed);
  Deliver(link, FinishedAck("running", 1));
  EXPECT_TRUE(link->closed);
  EXPECT_EQ(ends_, 1);
}

TEST_F(SessionFleetTest, JobThatIsAssignedToAStoppingAgentIsHandedBack) {
  const auto link = GoLive();
  Deliver(link, Assign("job", 1));
  HandBack();
  link->Take();
  Deliver(link, Assign("late", 1));
  const auto finished = Only(link->sent, Kind::kJobFinished);
  ASSERT_THAT(finished, SizeIs(1));
  EXPECT_EQ(finished[0].job_finished().failure().reason(), v1::REASON_AGENT_STOPPED);
  EXPECT_THAT(launcher_.runs, SizeIs(1));
}

TEST_F(SessionFleetTest, StoppingAgentWaitsForTheCoordinatorForEightSeconds) {
  const auto link = GoLive();
  Deliver(link, Assign("job", 1));
  session_->Disconnected(link);
  HandBack();
  Finish(launcher_.runs[0]);
  EXPECT_EQ(ends_, 0);
  const auto second = GoLive();
  EXPECT_TRUE(second->sent[1].has_going_away()) << "said again, before the state";
  session_->Disconnected(second);
  executor_.Advance(8s);
  EXPECT_EQ(ends_, 1);
}

TEST_F(SessionFleetTest, RunnerThatDoesNotEndDelaysTheAgentForEightSeconds) {
  const auto link = GoLive();
  Deliver(link, Assign("job", 1));
  HandBack();
  executor_.Advance(8s);
  EXPECT_EQ(ends_, 1);
  EXPECT_TRUE(link->closed);
}

}  // namespace
}  // namespace assay::agent
