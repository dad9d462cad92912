// assay campaign watch and wait, also while the coordinator restarts.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "common/subprocess.h"
#include "tests/unit/cli/fake_coordinator.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

using ::testing::ElementsAre;

v1::WatchCampaignResponse Message(v1::CampaignState state, v1::JobState job_state) {
  v1::WatchCampaignResponse message;
  v1::Campaign& campaign = *message.mutable_campaign();
  campaign.set_campaign_id("c1");
  campaign.set_name("nightly");
  campaign.set_state(state);
  campaign.set_case_count(1);
  v1::Job& job = *message.add_jobs();
  job.set_job_id("j");
  job.set_benchmark("gemm");
  job.set_state(job_state);
  job.set_case_count(1);
  job.set_epoch(1);
  job.add_node_names("node-a");
  return message;
}

v1::WatchCampaignResponse End(v1::Verdict verdict) {
  v1::WatchCampaignResponse message =
      Message(v1::CAMPAIGN_STATE_COMPLETED,
              verdict == v1::VERDICT_PASSED ? v1::JOB_STATE_SUCCEEDED : v1::JOB_STATE_FAILED);
  message.mutable_campaign()->set_verdict(verdict);
  message.mutable_campaign()->set_cases_done(verdict == v1::VERDICT_PASSED ? 1 : 0);
  return message;
}

TEST(WatchTest, Events_AreLines_VerdictIsTheExitCode) {
  FakeCoordinator fake;
  fake.watches = {
      {Message(v1::CAMPAIGN_STATE_ACTIVE, v1::JOB_STATE_RUNNING), End(v1::VERDICT_PASSED)}};
  fake.Start();
  ProgramRun run = RunAssay({"campaign", "watch", "nightly"}, fake.address());
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_WORDING("cli/watch-events", run.err);
  EXPECT_WORDING("cli/watch-passed", run.out);
  fake.watches = {{End(v1::VERDICT_FAILED)}};
  run = RunAssay({"campaign", "watch", "nightly"}, fake.address());
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_WORDING("cli/watch-failed", run.out);
}

TEST(WatchTest, CoordinatorRestarts_WatchContinues) {
  FakeCoordinator fake;
  fake.watches = {
      {Message(v1::CAMPAIGN_STATE_ACTIVE, v1::JOB_STATE_RUNNING)},
      {Message(v1::CAMPAIGN_STATE_ACTIVE, v1::JOB_STATE_RUNNING), End(v1::VERDICT_PASSED)}};
  fake.Start();
  const ProgramRun run = RunAssay({"campaign", "watch", "nightly"}, fake.address());
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_WORDING("cli/watch-reconnects", run.err);
}

TEST(WatchTest, WaitsForTheVerdict) {
  FakeCoordinator fake;
  fake.watches = {{Message(v1::CAMPAIGN_STATE_COMPLETED, v1::JOB_STATE_SUCCEEDED)},
                  {End(v1::VERDICT_PASSED)}};
  fake.Start();
  const ProgramRun run = RunAssay({"campaign", "watch", "nightly"}, fake.address());
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_NE(run.out, "");
}

TEST(WatchTest, UnknownCampaign_ExitsWith4) {
  FakeCoordinator fake;
  fake.Start();
  const ProgramRun run = RunAssay({"campaign", "watch", "nightly"}, fake.address());
  EXPECT_EQ(run.exit_code, 4);
}

TEST(WatchTest, FirstCoordinatorIsDown_NextOneIsWatched) {
  FakeCoordinator down;
  down.Start();
  down.Stop();
  FakeCoordinator fake;
  fake.watches = {{End(v1::VERDICT_PASSED)}};
  fake.Start();
  const ProgramRun run =
      RunAssay({"campaign", "watch", "nightly"}, down.address() + "," + fake.address());
  EXPECT_EQ(run.exit_code, 0) << run.err;
}

TEST(WatchTest, CoordinatorStops_WatchContinuesAtTheNext) {
  FakeCoordinator first;
  // The fake ends the first of two watches with UNAVAILABLE.
  first.watches = {{Message(v1::CAMPAIGN_STATE_ACTIVE, v1::JOB_STATE_RUNNING)}, {}};
  first.Start();
  FakeCoordinator second;
  second.watches = {{End(v1::VERDICT_FAILED)}};
  second.Start();
  const ProgramRun run =
      RunAssay({"campaign", "watch", "nightly"}, first.address() + "," + second.address());
  EXPECT_EQ(run.exit_code, 1) << run.err;
}

TEST(WatchTest, NoCoordinatorAnswers_EachIsNamed) {
  FakeCoordinator one;
  FakeCoordinator other;
  for (FakeCoordinator* fake : {&one, &other}) {
    fake->Start();
    fake->Stop();
  }
  const std::string both = one.address() + "," + other.address();
  const ProgramRun run = RunAssay({"campaign", "show", "nightly"}, both);
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_NE(run.err.find(one.address()), std::string::npos) << run.err;
  EXPECT_NE(run.err.find(other.address()), std::string::npos) << run.err;
  EXPECT_EQ(RunAssay({"campaign", "watch", "nightly"}, both).exit_code, 3);
}

TEST(WatchTest, Json_IsOneLinePerEvent_TheLastHasTheVerdict) {
  FakeCoordinator fake;
  fake.watches = {
      {Message(v1::CAMPAIGN_STATE_ACTIVE, v1::JOB_STATE_RUNNING), End(v1::VERDICT_FAILED)}};
  fake.Start();
  const ProgramRun run = RunAssay({"campaign", "watch", "nightly", "-o", "json"}, fake.address());
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.err, "");
  std::istringstream lines(run.out);
  std::vector<std::string> events;
  nlohmann::json last;
  for (std::string line; std::getline(lines, line);) {
    last = nlohmann::json::parse(line);
    events.push_back(last["event"]);
    if (events.size() == 1) {
      EXPECT_EQ(last["job"]["job_id"], "j");
    }
  }
  EXPECT_THAT(events, ElementsAre("job_started", "progress", "job_failed", "verdict"));
  EXPECT_EQ(last["campaign"]["verdict"], "VERDICT_FAILED");
}

// Two campaigns to wait for. Their watches are answered in this order.
void AddCampaigns(FakeCoordinator& fake) {
  for (const char* id : {"c1", "c2"}) fake.campaigns.emplace_back().set_campaign_id(id);
}

TEST(WaitTest, PrintsOneLinePerCampaign_OneThatFailedIsTheExitCode) {
  FakeCoordinator fake;
  AddCampaigns(fake);
  fake.watches = {{End(v1::VERDICT_FAILED)}, {End(v1::VERDICT_PASSED)}};
  fake.Start();
  ProgramRun run = RunAssay({"campaign", "wait", "c1", "c2"}, fake.address());
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_WORDING("cli/wait", run.out + run.err);
  fake.watches = {{End(v1::VERDICT_PASSED)}};
  run = RunAssay({"campaign", "wait", "c1"}, fake.address());
  EXPECT_EQ(run.exit_code, 0);
}

TEST(WaitTest, UnknownCampaign_ExitsWith4_BeforeWaitingForOthers) {
  FakeCoordinator fake;
  AddCampaigns(fake);
  fake.watches = {{Message(v1::CAMPAIGN_STATE_ACTIVE, v1::JOB_STATE_RUNNING)}};
  fake.hang_last_watch = true;
  fake.Start();
  EXPECT_EQ(RunAssay({"campaign", "wait", "c1", "c3"}, fake.address()).exit_code, 4);
}

TEST(WaitTest, CampaignRemovedMeanwhile_ExitsWith4) {
  FakeCoordinator fake;
  AddCampaigns(fake);  // There is no watch: the fake answers NOT_FOUND.
  fake.Start();
  const ProgramRun run = RunAssay({"campaign", "wait", "c1"}, fake.address());
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_WORDING("cli/wait-removed", run.err);
}

TEST(WaitTest, Timeout_ExitsWith124_SaysThatTheCampaignGoesOn) {
  FakeCoordinator fake;
  AddCampaigns(fake);
  fake.watches = {{Message(v1::CAMPAIGN_STATE_ACTIVE, v1::JOB_STATE_RUNNING)}};
  fake.hang_last_watch = true;
  fake.Start();
  const ProgramRun run = RunAssay({"campaign", "wait", "c1", "--timeout", "200ms"}, fake.address());
  EXPECT_EQ(run.exit_code, 124) << run.err;
  EXPECT_WORDING("cli/wait-timeout", run.out + run.err);
  EXPECT_EQ(RunAssay({"campaign", "wait", "c1", "--timeout", "20"}, fake.address()).exit_code, 2);
}

TEST(WaitTest, NoCoordinator_ExitsWith3) {
  FakeCoordinator fake;
  fake.Start();
  fake.Stop();
  EXPECT_EQ(RunAssay({"campaign", "wait", "c1"}, fake.address()).exit_code, 3);
}

// Signals a program that watches a campaign, after its first event. Returns how it ended and its
// last line.
std::pair<ExitStatus, std::string> InterruptWatch(int signal) {
  FakeCoordinator fake;
  fake.watches = {{Message(v1::CAMPAIGN_STATE_ACTIVE, v1::JOB_STATE_RUNNING)}};
  fake.hang_last_watch = true;
  fake.Start();
  Result<Pipe> pipe = MakePipe();
  EXPECT_TRUE(pipe.ok());
  SubprocessOptions options;
  options.argv = {ASSAY_PROGRAM, "campaign", "watch", "nightly", "-o", "json", "--coordinator",
                  fake.address()};
  options.descriptors = {{1, pipe->write.get()}, {2, pipe->write.get()}};
  Result<Subprocess> program = Subprocess::Spawn(options);
  EXPECT_TRUE(program.ok()) << program.status();
  pipe->write.Close();
  fake.AwaitHangingWatch();
  std::string text;
  char buffer[256];
  bool signalled = false;
  for (ssize_t got = 0; (got = read(pipe->read.get(), buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(got));
    // The first event tells the program the campaign's id, which its last line names.
    if (!signalled && text.find('\n') != std::string::npos) {
      program->Signal(signal);
      signalled = true;
    }
  }
  const std::optional<ExitStatus> exit = program->Wait(std::chrono::seconds(20));
  EXPECT_TRUE(exit.has_value());
  text.pop_back();
  return {exit.value_or(ExitStatus{}), text.substr(text.rfind('\n') + 1)};
}

TEST(WatchTest, Signal_StopsTheWatchingOnly_IsTheExitCode) {
  const auto [interrupted, line] = InterruptWatch(SIGINT);
  EXPECT_EQ(interrupted.code, 130) << interrupted.ToString();
  EXPECT_WORDING("cli/watch-interrupted", line);
  EXPECT_EQ(InterruptWatch(SIGTERM).first.code, 143);
}

}  // namespace
}  // namespace assay::cli
