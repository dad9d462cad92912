#include "agent/core/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/agent/session_fixture.h"

namespace assay::agent {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;
using Kind = v1::AgentMessage;

TEST_F(SessionTest, GreetsAndThenTellsItsState) {
  const auto link = Connect();
  ASSERT_THAT(link->sent, SizeIs(1));
  EXPECT_EQ(link->sent[0].hello().node().node_id(), "node-1");
  EXPECT_EQ(link->sent[0].hello().protocol_revision(), 1);
  const auto live = GoLive();
  EXPECT_TRUE(link->closed) << "the newest session wins";
  ASSERT_THAT(live->sent, SizeIs(2));
  EXPECT_EQ(live->sent[1].state().sequence(), 1U);
}

TEST_F(SessionTest, BeatsWithThePeriodOfTheCoordinator) {
  const auto link = GoLive();
  link->Take();
  executor_.Advance(5s);
  EXPECT_THAT(Only(link->Take(), Kind::kState), SizeIs(5));
}

TEST_F(SessionTest, SendsTelemetryOncePerHeartbeatPeriod) {
  telemetry_.emplace_back().set_temperature_celsius(40);
  const auto link = GoLive();
  const auto states = [&] { return Only(link->Take(), Kind::kState); };
  const auto first = states();
  ASSERT_THAT(first, SizeIs(1));
  ASSERT_THAT(first[0].state().gpus(), SizeIs(1));
  EXPECT_EQ(first[0].state().gpus(0).temperature_celsius(), 40);
  // A job between two heartbeats.
  Deliver(link, Assign("job", 1));
  for (const v1::AgentMessage& state : states()) EXPECT_THAT(state.state().gpus(), IsEmpty());
  telemetry_[0].set_temperature_celsius(60);
  executor_.Advance(2s);
  int with_gpus = 0;
  for (const v1::AgentMessage& state : states()) with_gpus += state.state().gpus_size();
  EXPECT_EQ(with_gpus, 2);
  // Unknown to another coordinator.
  const auto second = GoLive();
  ASSERT_THAT(Only(second->sent, Kind::kState), SizeIs(1));
  EXPECT_THAT(Only(second->sent, Kind::kState)[0].state().gpus(), SizeIs(1));
}

TEST_F(SessionTest, GivesUpOnACoordinatorThatDoesNotAnswerHello) {
  const auto link = Connect();
  executor_.Advance(31s);
  EXPECT_TRUE(link->closed);
}

TEST_F(SessionTest, RefusesAnUnknownRevision) {
  for (const int revision : {0, 7}) {
    const auto link = Connect();
    v1::CoordinatorMessage message;
    message.mutable_hello_ack()->set_protocol_revision(revision);
    Deliver(link, message);
    EXPECT_TRUE(link->closed) << revision;
  }
}

TEST_F(SessionTest, AssignIsIdempotent) {
  const auto link = GoLive();
  Deliver(link, Assign("job", 1));
  Deliver(link, Assign("job", 1));
  EXPECT_THAT(launcher_.runs, SizeIs(1));
}

TEST_F(SessionTest, JobFinishedWaitsForEveryResult) {
  const auto link = GoLive();
  Deliver(link, Assign("job", 1));
  Report(launcher_.runs[0], 0);
  Report(launcher_.runs[0], 1);
  Finish(launcher_.runs[0]);
  EXPECT_TRUE(launcher_.runs[0]->destroyed);
  EXPECT_THAT(Only(link->sent, Kind::kCaseResult), SizeIs(2));
  Deliver(link, Ack("job", 1, 0));
  EXPECT_THAT(Only(link->sent, Kind::kJobFinished), IsEmpty());
  Deliver(link, Ack("job", 1, 1));
  EXPECT_EQ(spool_->depth(), 0U);
  ASSERT_THAT(Only(link->sent, Kind::kJobFinished), SizeIs(1));
  link->Take();
  Deliver(link, FinishedAck("job", 1));
  executor_.Advance(1s);
  const auto states = Only(link->Take(), Kind::kState);
  ASSERT_THAT(states, SizeIs(1));
  EXPECT_THAT(states[0].state().running_jobs(), IsEmpty());
  // An Assign that was under way meanwhile gets the answer again, not another run.
  Deliver(link, Assign("job", 1));
  EXPECT_THAT(launcher_.runs, SizeIs(1));
  EXPECT_THAT(Only(link->sent, Kind::kJobFinished), SizeIs(1));
}

TEST_F(SessionTest, UnacknowledgedIsSentAgain) {
  const auto link = GoLive();
  Deliver(link, Assign("job", 1));
  Report(launcher_.runs[0], 0);
  link->Take();
  executor_.Advance(11s);
  EXPECT_THAT(Only(link->Take(), Kind::kCaseResult), SizeIs(1));
}

TEST_F(SessionTest, StaleAndRejectedResultsLeaveTheSpool) {
  const auto link = GoLive();
  Deliver(link, Assign("job", 1));
  Report(launcher_.runs[0], 0);
  Report(launcher_.runs[0], 1);
  Deliver(link, Ack("job", 1, 0, v1::ResultAck::VERDICT_STALE));
  Deliver(link, Ack("job", 1, 1, v1::ResultAck::VERDICT_UNSPECIFIED));
  EXPECT_EQ(spool_->depth(), 1U);
  Deliver(link, Ack("job", 1, 1, v1::ResultAck::VERDICT_REJECTED));
  EXPECT_EQ(spool_->depth(), 0U);
}

TEST_F(SessionTest, JobsOutliveTheLink) {
  const auto first = GoLive();
  Deliver(first, Assign("job", 1));
  session_->Disconnected(first);
  Report(launcher_.runs[0], 0);
  Report(launcher_.runs[0], 1);
  Finish(launcher_.runs[0]);
  const auto second = GoLive();
  const auto states = Only(second->sent, Kind::kState);
  ASSERT_THAT(states[0].state().running_jobs(), SizeIs(1));
  EXPECT_EQ(states[0].state().running_jobs(0).phase(), "reporting");
  EXPECT_EQ(states[0].state().spool_depth(), 2);
  EXPECT_THAT(Only(second->sent, Kind::kCaseResult), SizeIs(2));
  Deliver(second, Ack("job", 1, 0));
  Deliver(second, Ack("job", 1, 1));
  EXPECT_THAT(Only(second->sent, Kind::kJobFinished), SizeIs(1));
}

TEST_F(SessionTest, ResultsOutliveTheAgent) {
  Deliver(GoLive(), Assign("job", 1));
  Report(launcher_.runs[0], 0);
  StartAgent();
  const auto link = GoLive();
  EXPECT_THAT(Only(link->sent, Kind::kState)[0].state().running_jobs(), IsEmpty());
  ASSERT_THAT(Only(link->sent, Kind::kCaseResult), SizeIs(1));
  Deliver(link, Ack("job", 1, 0));
  EXPECT_EQ(spool_->depth(), 0U);
}

TEST_F(SessionTest, LeaseExpiryKillsTheRunners) {
  const auto link = GoLive();
  Deliver(link, Assign("job", 1, 30s));
  Report(launcher_.runs[0], 0);
  session_->Disconnected(link);
  executor_.Advance(26s);
  EXPECT_FALSE(launcher_.runs[0]->stopped) << "it measures on until lease minus margin";
  executor_.Advance(2s);
  ASSERT_TRUE(launcher_.runs[0]->stopped);
  EXPECT_EQ(launcher_.runs[0]->stopped->reason(), v1::REASON_LEASE_LOST);
  EXPECT_EQ(spool_->depth(), 1U) << "its results stay";
}

TEST_F(SessionTest, RenewalCountsFromWhenTheStateWasSent) {
  const auto link = GoLive();
  Deliver(link, Assign("job", 1, 30s));
  link->Take();
  executor_.Advance(1s);
  v1::CoordinatorMessage renewal;
  renewal.mutable_lease_renewal()->set_sequence(
      Only(link->Take(), Kind::kState)[0].state().sequence());
  renewal.mutable_lease_renewal()->add_jobs()->set_job_id("job");
  renewal.mutable_lease_renewal()->mutable_jobs(0)->set_epoch(1);
  *renewal.mutable_lease_renewal()->mutable_lease() = ToProto(30s);
  executor_.Advance(20s);  // The reply is slow: that must not stretch the lease.
  Deliver(link, renewal);
  session_->Disconnected(link);
  executor_.Advance(6s);  // 27 s after the Assign, 26 s after the State.
  EXPECT_FALSE(launcher_.runs[0]->stopped);
  executor_.Advance(2s);
  EXPECT_TRUE(launcher_.runs[0]->stopped);
}

TEST_F(SessionTest, NewerEpochReplacesOnceTheOldOneHasGone) {
  const auto link = GoLive();
  Deliver(link, Assign("job", 1));
  Deliver(link, Assign("job", 2));
  ASSERT_THAT(launcher_.runs, SizeIs(1));
  EXPECT_TRUE(launcher_.runs[0]->stopped);
  Report(launcher_.runs[0], 0);
  EXPECT_EQ(spool_->depth(), 0U) << "a replaced epoch's results are nobody's";
  Finish(launcher_.runs[0]);
  ASSERT_THAT(launcher_.runs, SizeIs(2));
  EXPECT_EQ(launcher_.runs[1]->spec.epoch(), 2);
  Deliver(link, Assign("job", 1));
  EXPECT_THAT(launcher_.runs, SizeIs(2)) << "an older epoch is ignored";
}

TEST_F(SessionTest, CancelStopsThisAndEarlierEpochs) {
  const auto link = GoLive();
  Deliver(link, Assign("job", 3));
  v1::CoordinatorMessage cancel;
  cancel.mutable_cancel()->set_job_id("job");
  cancel.mutable_cancel()->set_epoch(2);
  Deliver(link, cancel);
  EXPECT_FALSE(launcher_.runs[0]->stopped);
  cancel.mutable_cancel()->set_epoch(3);
  Deliver(link, cancel);
  ASSERT_TRUE(launcher_.runs[0]->stopped);
  EXPECT_EQ(launcher_.runs[0]->stopped->reason(), v1::REASON_CANCELLED);
}

TEST_F(SessionTest, GangTokenGoesThroughTheCoordinator) {
  const auto first = GoLive();
  Deliver(first, Assign("job", 1));
  launcher_.runs[0]->events.gang_ready("token");
  executor_.RunDue();
  EXPECT_EQ(Only(first->sent, Kind::kGangReady)[0].gang_ready().rendezvous_token(), "token");
  const auto second = GoLive();
  ASSERT_THAT(Only(second->sent, Kind::kGangReady), SizeIs(1)) << "said again to a new coordinator";
  v1::CoordinatorMessage go;
  go.mutable_gang_go()->set_job_id("job");
  go.mutable_gang_go()->set_epoch(1);
  go.mutable_gang_go()->set_rendezvous_token("token");
  Deliver(second, go);
  EXPECT_EQ(launcher_.runs[0]->token, "token");
}

TEST_F(SessionTest, TheNextJobWaitsForRunnersThatAreToldToEnd) {
  const auto link = GoLive();
  Deliver(link, Assign("gang", 1));
  v1::CoordinatorMessage cancel;
  cancel.mutable_cancel()->set_job_id("gang");
  cancel.mutable_cancel()->set_epoch(1);
  Deliver(link, cancel);
  Deliver(link, Assign("next", 1));
  EXPECT_THAT(launcher_.runs, SizeIs(1));
  Finish(launcher_.runs[0]);
  EXPECT_THAT(launcher_.runs, SizeIs(2));
}

TEST_F(SessionTest, FailuresAreThisNodesUnlessTheyNameAnother) {
  const auto link = GoLive();
  for (const char* named : {"", "node-2"}) {
    const std::string job = std::string("job") + named;
    Deliver(link, Assign(job, 1));
    JobOutcome outcome;
    outcome.failure.emplace().set_node_id(named);
    Finish(launcher_.runs.back(), outcome);
  }
  const auto finished = Only(link->sent, Kind::kJobFinished);
  ASSERT_THAT(finished, SizeIs(2));
  EXPECT_EQ(finished[0].job_finished().failure().node_id(), "node-1");
  EXPECT_EQ(finished[1].job_finished().failure().node_id(), "node-2");
}

TEST_F(SessionTest, ForbiddenNcclVariablesAreRefused) {
  const auto link = GoLive();
  v1::CoordinatorMessage assign = Assign("job", 1);
  (*assign.mutable_assign()->mutable_job()->mutable_nccl())["NCCL_TOPO_FILE"] = "x";
  Deliver(link, assign);
  EXPECT_THAT(launcher_.runs, SizeIs(0));
  EXPECT_EQ(Only(link->sent, Kind::kJobFinished)[0].job_finished().failure().reason(),
            v1::REASON_BAD_ASSIGNMENT);
}

TEST_F(SessionTest, NonsenseIsAnAnswerNotACrash) {
  const auto link = GoLive();
  v1::CoordinatorMessage unknown = Assign("a", 1);
  unknown.mutable_assign()->mutable_job()->set_benchmark("nope");
  Deliver(link, unknown);
  v1::CoordinatorMessage gpu = Assign("b", 1);
  gpu.mutable_assign()->mutable_job()->mutable_ranks(0)->set_gpu_index(5);
  Deliver(link, gpu);
  v1::CoordinatorMessage empty;
  empty.mutable_assign();
  Deliver(link, empty);
  Deliver(link, v1::CoordinatorMessage());
  const auto finished = Only(link->sent, Kind::kJobFinished);
  ASSERT_THAT(finished, SizeIs(3));
  EXPECT_EQ(finished[0].job_finished().failure().reason(), v1::REASON_UNKNOWN_BENCHMARK);
  EXPECT_EQ(finished[1].job_finished().failure().reason(), v1::REASON_GPU_MISSING);
  EXPECT_EQ(finished[2].job_finished().failure().reason(), v1::REASON_BAD_ASSIGNMENT);
  EXPECT_THAT(launcher_.runs, IsEmpty());
}

TEST_F(SessionTest, AssignmentBeyondTheNodeIsRefusedBeforeAnyProcess) {
  const auto link = GoLive();
  const auto assign = [&](const std::string& job, const std::string& benchmark, int ranks) {
    v1::CoordinatorMessage message = Assign(job, 1);
    v1::JobSpec& spec = *message.mutable_assign()->mutable_job();
    spec.set_benchmark(benchmark);
    spec.set_world_size(ranks);
    spec.clear_ranks();
    for (int i = 0; i < ranks; ++i) {
      spec.add_ranks()->set_rank(i);
      spec.mutable_ranks(i)->set_gpu_index(benchmark == "gpu" ? 0 : -1);
    }
    return message;
  };
  Deliver(link, assign("a", "gpu", 2));
  Deliver(link, assign("b", "ok", 65));
  v1::CoordinatorMessage endless = Assign("c", 1);
  *endless.mutable_assign()->mutable_job()->mutable_timeout() = ToProto(25h);
  Deliver(link, endless);
  v1::CoordinatorMessage wordy = Assign("d", 1);
  wordy.mutable_assign()->mutable_job()->add_node_names(std::string(1 << 20, 'n'));
  Deliver(link, wordy);
  const auto finished = Only(link->sent, Kind::kJobFinished);
  ASSERT_THAT(finished, SizeIs(4));
  for (const auto& one : finished) {
    EXPECT_EQ(one.job_finished().failure().reason(), v1::REASON_BAD_ASSIGNMENT);
  }
  EXPECT_THAT(launcher_.runs, IsEmpty());
  Deliver(link, assign("e", "gpu", 1));
  EXPECT_THAT(launcher_.runs, SizeIs(1));
}

TEST_F(SessionTest, LeaseLastsADayAtMost) {
  const auto link = GoLive();
  Deliver(link, Assign("job", 1, 24h * 300));
  session_->Disconnected(link);
  executor_.Advance(24h);
  ASSERT_TRUE(launcher_.runs[0]->stopped);
  EXPECT_EQ(launcher_.runs[0]->stopped->reason(), v1::REASON_LEASE_LOST);
}

TEST_F(SessionTest, ReconnectIsNotPutOffForHours) {
  const auto link = GoLive();
  v1::CoordinatorMessage message;
  *message.mutable_reconnect()->mutable_after() = ToProto(24h * 300);
  Deliver(link, message);
  ASSERT_TRUE(link->reconnect);
  EXPECT_EQ(link->reconnect->after, Duration(5min));
  EXPECT_EQ(link->reconnect->address, "");
}

TEST_F(SessionTest, WaitsForADirectJobToEnd) {
  const auto link = GoLive();
  ASSERT_TRUE(occupancy_.TryEnterDirect());
  Deliver(link, Assign("job", 1));
  EXPECT_THAT(launcher_.runs, IsEmpty());
  occupancy_.LeaveDirect();
  executor_.RunDue();
  EXPECT_THAT(launcher_.runs, SizeIs(1));
  EXPECT_FALSE(occupancy_.TryEnterDirect());
}

TEST_F(SessionTest, FullSpoolRefusesJobsAndStopsRunningOnes) {
  const auto link = GoLive();
  Deliver(link, Assign("job", 1));
  v1::CaseResult big = ResultOf("job", 1, 0);
  big.set_benchmark(std::string(2 << 20, 'x'));
  launcher_.runs[0]->events.result(big);
  executor_.RunDue();
  ASSERT_TRUE(launcher_.runs[0]->stopped);
  EXPECT_EQ(launcher_.runs[0]->stopped->reason(), v1::REASON_SPOOL_FULL);
  EXPECT_EQ(launcher_.runs[0]->stopped->failure_class(), v1::FAILURE_CLASS_NODE);
}

TEST_F(SessionTest, ReconnectClosesWithTheDelay) {
  const auto link = GoLive();
  v1::CoordinatorMessage message;
  *message.mutable_reconnect()->mutable_after() = ToProto(7s);
  Deliver(link, message);
  EXPECT_TRUE(link->closed);
  ASSERT_TRUE(link->reconnect);
  EXPECT_EQ(link->reconnect->after, Duration(7s));
  EXPECT_FALSE(session_->stats().connected);
}

TEST_F(SessionTest, KeepsFewResultsInFlight) {
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(spool_->Append(ResultOf("old", 1, i), kFleet, [](const Status&) {}).ok());
  const auto link = GoLive();
  EXPECT_THAT(Only(link->Take(), Kind::kCaseResult), SizeIs(16));
  Deliver(link, Ack("old", 1, 0));
  EXPECT_THAT(Only(link->Take(), Kind::kCaseResult), SizeIs(1));
}

}  // namespace
}  // namespace assay::agent
