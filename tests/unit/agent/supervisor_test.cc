#include "agent/core/supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <future>
#include <map>

#include "agent/core/rank_process.h"
#include "agent/core/runner_environment.h"
#include "agent/core/runner_query.h"
#include "common/text.h"
#include "tests/temporary_folder.h"
#include "tests/wording.h"
#include "wire/durations.h"

namespace assay::agent {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;
using namespace std::chrono_literals;

// A job on the fake runner, awaited.
class SupervisorTest : public ::testing::Test {
 protected:
  SupervisorTest() : supervisor_(MakeSupervisor(ASSAY_FAKE_RUNNER)) {}

  std::unique_ptr<Supervisor> MakeSupervisor(const std::string& runner,
                                             Duration prepare = std::chrono::seconds(60)) {
    v1::NodeDescription node;
    node.set_node_id("node-1");
    node.set_name("host");
    node.set_provider("lab");
    node.mutable_inventory()->mutable_cpu()->set_model("Some CPU");
    SupervisorOptions options;
    options.runner = runner;
    options.advertise_address = "127.0.0.1";
    options.event_patience = std::chrono::milliseconds(200);
    options.prepare = prepare;
    return std::make_unique<Supervisor>(options, std::make_shared<Node>(node),
                                        std::make_shared<Preflight>(nullptr, folder_.path()));
  }

  static v1::JobSpec Job(const std::string& benchmark, int ranks = 1) {
    v1::JobSpec spec;
    spec.set_job_id("job");
    spec.set_epoch(4);
    spec.set_benchmark(benchmark);
    spec.set_world_size(ranks);
    spec.add_node_ids("node-1");
    spec.mutable_timeout()->set_seconds(50);
    for (int i = 0; i < ranks; ++i) {
      spec.add_ranks()->set_rank(i);
      spec.mutable_ranks(i)->set_gpu_index(-1);
    }
    for (int i = 0; i < 2; ++i) {
      spec.add_cases()->set_case_index(10 + i);
      (*spec.mutable_cases(i)->mutable_parameters())["value"] = std::to_string(7 + i);
    }
    return spec;
  }

  void Launch(v1::JobSpec spec) {
    job_ = supervisor_->Launch(
        std::move(spec), {[this](const std::string& phase) {
                            if (phase == "measure" && !measuring_told_) {
                              measuring_told_ = true;
                              measuring_.set_value();
                            }
                          },
                          [this](const std::string& token) { ready_.set_value(token); },
                          [this](v1::CaseResult result) { results_.push_back(std::move(result)); },
                          [this](JobOutcome outcome) { finished_.set_value(std::move(outcome)); }});
  }

  JobOutcome Await() {
    JobOutcome outcome = finished_.get_future().get();
    job_.reset();
    return outcome;
  }

  v1::Failure FailureOf(v1::JobSpec spec) {
    Launch(std::move(spec));
    return Await().failure.value_or(v1::Failure());
  }

  // For another Launch.
  void Reset() {
    measuring_told_ = false;
    measuring_ = {};
    ready_ = {};
    finished_ = {};
  }

  TemporaryFolder folder_;
  std::unique_ptr<Supervisor> supervisor_;
  std::vector<v1::CaseResult> results_;
  bool measuring_told_ = false;
  std::promise<void> measuring_;
  std::promise<std::string> ready_;
  std::promise<JobOutcome> finished_;
  std::unique_ptr<LaunchedJob> job_;
};

TEST_F(SupervisorTest, CompletesResults) {
  Launch(Job("ok"));
  EXPECT_FALSE(Await().failure);
  ASSERT_EQ(results_.size(), 2U);
  EXPECT_EQ(results_[1].case_index(), 11);
  EXPECT_EQ(results_[1].measurements(0).median(), 8);
  EXPECT_EQ(results_[1].job_id(), "job");
  EXPECT_EQ(results_[1].epoch(), 4);
  EXPECT_EQ(results_[1].environment().cpu_model(), "Some CPU");
  EXPECT_EQ(results_[1].environment().topology(), "none");
  EXPECT_FALSE(results_[1].has_counters());
  EXPECT_EQ(results_[1].provenance().provider(), "lab");
  EXPECT_TRUE(results_[1].has_end_time());
}

TEST_F(SupervisorTest, AsksTheRunnerForCounters) {
  v1::JobSpec spec = Job("ok");
  spec.set_counters(true);
  Launch(spec);
  EXPECT_FALSE(Await().failure);
  ASSERT_EQ(results_.size(), 2U);
  EXPECT_EQ(results_[0].counters().source(), "analytic");
}

TEST_F(SupervisorTest, CrashIsReportedWithStderr) {
  const v1::Failure failure = FailureOf(Job("crash"));
  EXPECT_EQ(failure.failure_class(), v1::FAILURE_CLASS_JOB);
  EXPECT_EQ(failure.reason(), v1::REASON_RUNNER_CRASHED);
  EXPECT_THAT(Split(failure.evidence(), '\n'), Contains("fake_runner: about to crash as asked"));
  EXPECT_EQ(failure.node_id(), "node-1");
}

TEST_F(SupervisorTest, LostGpuIsAFailureOfTheNode) {
  const v1::Failure failure = FailureOf(Job("gpu_lost"));
  EXPECT_EQ(failure.failure_class(), v1::FAILURE_CLASS_NODE);
  EXPECT_EQ(failure.reason(), v1::REASON_GPU_LOST);
  EXPECT_FALSE(failure.evidence().empty());
}

TEST_F(SupervisorTest, RunnerMayGiveUpBeforeItIsReady) {
  const v1::Failure failure = FailureOf(Job("gpu_unusable"));
  EXPECT_EQ(failure.failure_class(), v1::FAILURE_CLASS_NODE);
  EXPECT_EQ(failure.reason(), v1::REASON_GPU_UNUSABLE);
}

TEST_F(SupervisorTest, RunnerCannotCancelItsJob) {
  const v1::Failure failure = FailureOf(Job("bad_abort"));
  EXPECT_EQ(failure.failure_class(), v1::FAILURE_CLASS_JOB);
  EXPECT_EQ(failure.reason(), v1::REASON_RUNNER_PROTOCOL);
}

TEST_F(SupervisorTest, EndWithoutFinishedIsACrash) {
  EXPECT_EQ(FailureOf(Job("exit_early")).reason(), v1::REASON_RUNNER_CRASHED);
}

TEST_F(SupervisorTest, EndBeforeReadyIsACrash) {
  const v1::Failure failure = FailureOf(Job("never_ready"));
  EXPECT_EQ(failure.reason(), v1::REASON_RUNNER_CRASHED);
  EXPECT_WORDING("agent/crash-before-ready", failure.message());
}

TEST_F(SupervisorTest, HangEndsByTimeout) {
  v1::JobSpec spec = Job("hang");
  *spec.mutable_timeout() = ToProto(100ms);
  const v1::Failure failure = FailureOf(spec);
  EXPECT_EQ(failure.reason(), v1::REASON_TIMEOUT);
  EXPECT_EQ(failure.failure_class(), v1::FAILURE_CLASS_JOB);
}

TEST_F(SupervisorTest, StubbornRunnerIsKilled) {
  Launch(Job("stubborn"));
  measuring_.get_future().wait();
  job_->Stop(MakeFailure(v1::REASON_CANCELLED, "enough"));
  EXPECT_EQ(Await().failure->reason(), v1::REASON_CANCELLED);
}

TEST_F(SupervisorTest, CancelReachesGrandchildren) {
  Launch(Job("orphan"));
  measuring_.get_future().wait();
  job_->Stop(MakeFailure(v1::REASON_CANCELLED, "enough"));
  EXPECT_EQ(Await().failure->reason(), v1::REASON_CANCELLED);
}

TEST_F(SupervisorTest, GarbageIsAProtocolError) {
  const v1::Failure failure = FailureOf(Job("garbage"));
  EXPECT_EQ(failure.reason(), v1::REASON_RUNNER_PROTOCOL);
  EXPECT_EQ(failure.failure_class(), v1::FAILURE_CLASS_JOB);
}

TEST_F(SupervisorTest, TruncatedEventIsACrash) {
  const v1::Failure failure = FailureOf(Job("truncated"));
  EXPECT_EQ(failure.reason(), v1::REASON_RUNNER_CRASHED);
}

TEST_F(SupervisorTest, ForeignResultIsAProtocolError) {
  EXPECT_EQ(FailureOf(Job("foreign")).reason(), v1::REASON_RUNNER_PROTOCOL);
  EXPECT_TRUE(results_.empty());
}

TEST_F(SupervisorTest, FloodIsBounded) {
  const v1::Failure failure = FailureOf(Job("flood"));
  EXPECT_EQ(failure.reason(), v1::REASON_RUNNER_PROTOCOL);
  EXPECT_LE(failure.evidence().size(), 64U << 10);
}

TEST_F(SupervisorTest, FullPipesDoNotStopAChattyRunner) {
  Launch(Job("chatty"));
  EXPECT_FALSE(Await().failure);
  EXPECT_EQ(results_.size(), 2U);
}

TEST_F(SupervisorTest, LocalGangMeetsByItself) {
  Launch(Job("gang_ok", 4));
  EXPECT_FALSE(Await().failure);
  EXPECT_EQ(results_.size(), 2U);
}

TEST_F(SupervisorTest, OneRanksCrashEndsTheGang) {
  EXPECT_EQ(FailureOf(Job("gang_crash", 3)).rank(), 2);
}

TEST_F(SupervisorTest, RankThatSaysWhyIsReportedForItsGroup) {
  const v1::Failure lost = FailureOf(Job("gang_gpu_lost", 2));
  EXPECT_EQ(lost.reason(), v1::REASON_GPU_LOST);
  EXPECT_EQ(lost.failure_class(), v1::FAILURE_CLASS_NODE);
  EXPECT_EQ(lost.rank(), 1);
  EXPECT_FALSE(lost.evidence().empty());
}

TEST_F(SupervisorTest, RankKilledByASignalIsReportedBeforeOneThatExited) {
  const v1::Failure crash = FailureOf(Job("gang_segv", 2));
  EXPECT_EQ(crash.reason(), v1::REASON_RUNNER_CRASHED);
  EXPECT_EQ(crash.rank(), 1);
  EXPECT_WORDING("agent/crash", crash.message());
}

TEST_F(SupervisorTest, SuspendedRankEndsWithTheOthers) {
  const v1::Failure told = FailureOf(Job("gang_stopped", 2));
  EXPECT_EQ(told.reason(), v1::REASON_GPU_LOST) << "killed, without a word: " << told.message();
}

TEST_F(SupervisorTest, SpreadGangWaitsForGo) {
  v1::JobSpec spec = Job("gang_ok", 2);
  spec.mutable_ranks()->RemoveLast();
  Launch(spec);
  const std::string token = ready_.get_future().get();
  EXPECT_FALSE(token.empty());
  job_->Go(token);
  EXPECT_FALSE(Await().failure);
}

// Rank 0 of two; the other is on another node.
v1::JobSpec FirstOfTwoNodes(v1::JobSpec spec) {
  spec.mutable_ranks()->RemoveLast();
  spec.add_node_ids("node-2");
  return spec;
}

TEST_F(SupervisorTest, SpreadGangIsKilledInEachPhase) {
  for (const char* phase : {"starting", "ready", "measure"}) {
    SCOPED_TRACE(phase);
    const bool never_ready = std::string(phase) == "starting";
    v1::JobSpec spec = FirstOfTwoNodes(Job(never_ready ? "gang_silent" : "gang_hang", 2));
    *spec.mutable_timeout() = ToProto(1h);  // Stop() alone ends it.
    Launch(spec);
    if (!never_ready) {
      const std::string token = ready_.get_future().get();
      if (std::string(phase) == "measure") {
        job_->Go(token);
        measuring_.get_future().wait();
      }
    }
    job_->Stop(MakeFailure(v1::REASON_CANCELLED, "the attempt is over"));
    const v1::Failure failure = Await().failure.value_or(v1::Failure());
    EXPECT_EQ(failure.reason(), v1::REASON_CANCELLED);
    Reset();
  }
}

TEST_F(SupervisorTest, RanksThatAreNeverReadyEndSoon) {
  supervisor_ = MakeSupervisor(ASSAY_FAKE_RUNNER, 300ms);
  const v1::Failure failure = FailureOf(FirstOfTwoNodes(Job("gang_silent", 2)));
  EXPECT_EQ(failure.failure_class(), v1::FAILURE_CLASS_NODE);
  EXPECT_EQ(failure.reason(), v1::REASON_RUNNER_NOT_READY);
  EXPECT_WORDING("agent/ranks-not-ready", failure.message());
}

TEST_F(SupervisorTest, TimeoutNamesTheRanksThatAreNotReady) {
  v1::JobSpec spec = FirstOfTwoNodes(Job("gang_silent", 3));
  *spec.mutable_timeout() = ToProto(300ms);
  EXPECT_WORDING("agent/timeout-not-ready", FailureOf(spec).message());
}

TEST_F(SupervisorTest, TimeoutNamesTheRanksThatWaitForOtherNodes) {
  v1::JobSpec spec = FirstOfTwoNodes(Job("gang_ok", 2));
  *spec.mutable_timeout() = ToProto(2s);
  EXPECT_WORDING("agent/timeout-waiting", FailureOf(spec).message());
}

TEST_F(SupervisorTest, TimeoutNamesTheRanksThatHaveNotFinished) {
  v1::JobSpec spec = FirstOfTwoNodes(Job("gang_compares", 2));
  *spec.mutable_timeout() = ToProto(2s);
  Launch(spec);
  job_->Go(ready_.get_future().get());
  EXPECT_WORDING("agent/timeout-not-finished", Await().failure.value_or(v1::Failure()).message());
}

TEST_F(SupervisorTest, GangThatIsNeverStartedEndsSoon) {
  supervisor_ = MakeSupervisor(ASSAY_FAKE_RUNNER, 1s);
  const v1::Failure failure = FailureOf(FirstOfTwoNodes(Job("gang_ok", 2)));
  EXPECT_EQ(failure.failure_class(), v1::FAILURE_CLASS_INFRASTRUCTURE);
  EXPECT_EQ(failure.reason(), v1::REASON_GANG_NOT_STARTED);
}

TEST_F(SupervisorTest, LostPeerIsReportedWithWhatTheRankSaw) {
  Launch(FirstOfTwoNodes(Job("gang_peer_lost", 2)));
  job_->Go(ready_.get_future().get());
  const v1::Failure failure = Await().failure.value_or(v1::Failure());
  EXPECT_EQ(failure.failure_class(), v1::FAILURE_CLASS_INFRASTRUCTURE);
  EXPECT_EQ(failure.reason(), v1::REASON_PEER_LOST);
  EXPECT_EQ(failure.rank(), 0);
  EXPECT_EQ(failure.peer_loss().lost_rank(), 1);
  EXPECT_EQ(failure.last_phase(), "case 11 (value=7), measure");
  EXPECT_THAT(Split(failure.evidence(), '\n'), Contains("NCCL WARN as if from the library"));
}

TEST_F(SupervisorTest, UnreachablePeerIsReportedWithTheOthersThatAnswer) {
  Launch(FirstOfTwoNodes(Job("gang_peer_silent", 3)));
  job_->Go(ready_.get_future().get());
  const v1::Failure failure = Await().failure.value_or(v1::Failure());
  EXPECT_EQ(failure.reason(), v1::REASON_PEER_UNREACHABLE);
  EXPECT_EQ(failure.node_id(), "node-1") << "blame is the coordinator's to assign";
  EXPECT_THAT(failure.peer_loss().silent_ranks(), ElementsAre(1));
  EXPECT_THAT(failure.peer_loss().heard_ranks(), ElementsAre(2));
}

TEST_F(SupervisorTest, MissingRunnerIsAFailureOfTheNode) {
  supervisor_ = MakeSupervisor("/nonexistent/assay-runner");
  const v1::Failure failure = FailureOf(Job("ok"));
  EXPECT_EQ(failure.reason(), v1::REASON_RUNNER_SPAWN_FAILED);
  EXPECT_EQ(failure.failure_class(), v1::FAILURE_CLASS_NODE);
}

TEST_F(SupervisorTest, PreflightErrorFailsTheJob) {
  v1::JobSpec spec = Job("ok");
  spec.mutable_ranks(0)->set_gpu_index(0);  // There is no driver here.
  const v1::Failure failure = FailureOf(spec);
  EXPECT_EQ(failure.reason(), v1::REASON_PREFLIGHT_FAILED);
  EXPECT_EQ(failure.failure_class(), v1::FAILURE_CLASS_NODE);
}

TEST_F(SupervisorTest, DestructionStopsTheJob) {
  Launch(Job("hang"));
  measuring_.get_future().wait();
  job_.reset();
  EXPECT_EQ(finished_.get_future().get().failure->reason(), v1::REASON_AGENT_STOPPED);
}

// Returns the values of variables by their names. A name that is set twice fails the test.
std::map<std::string, std::string> ByName(const std::vector<std::string>& environment) {
  std::map<std::string, std::string> by_name;
  for (const std::string& variable : environment) {
    const size_t equals = variable.find('=');
    EXPECT_NE(equals, variable.npos) << variable;
    EXPECT_TRUE(by_name.emplace(variable.substr(0, equals), variable.substr(equals + 1)).second)
        << variable;
  }
  return by_name;
}

TEST(RunnerEnvironmentTest, PassesNoSecrets) {
  ::setenv("ASSAY_TEST_SECRET", "canary", 1);
  ::setenv("NCCL_DEBUG", "WARN", 1);
  ::setenv("CUDA_VISIBLE_DEVICES", "3", 1);
  const auto environment = ByName(RunnerEnvironment("GPU-x"));
  EXPECT_THAT(environment, Not(Contains(Key("ASSAY_TEST_SECRET"))));
  EXPECT_THAT(environment, Contains(Pair("NCCL_DEBUG", "WARN")));
  EXPECT_THAT(environment, Contains(Pair("CUDA_VISIBLE_DEVICES", "GPU-x")));
  EXPECT_THAT(environment, Contains(Pair("CUDA_DEVICE_ORDER", "PCI_BUS_ID")));
  EXPECT_THAT(environment, Not(Contains(Key("ASSAY_CACHE_DIR"))));
  EXPECT_THAT(ByName(RunnerEnvironment("GPU-x", "/data")),
              Contains(Pair("ASSAY_CACHE_DIR", "/data")));
}

TEST(RunnerDescriptionTest, ReadsTheCatalogue) {
  const auto description = DescribeRunner(ASSAY_FAKE_RUNNER, 30s);
  ASSERT_TRUE(description.ok()) << description.status();
  EXPECT_GT(description->benchmarks_size(), 3);
}

TEST(RunnerDescriptionTest, BrokenRunnersAreErrors) {
  EXPECT_FALSE(DescribeRunner("/nonexistent", 30s).ok());
  EXPECT_EQ(DescribeRunner("/bin/false", 30s).status().reason(), Reason::kRunnerUnusable);
  EXPECT_EQ(DescribeRunner("/bin/true", 30s).status().reason(), Reason::kRunnerUnusable);
}

}  // namespace
}  // namespace assay::agent
