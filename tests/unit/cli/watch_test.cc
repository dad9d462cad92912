// assay campaign watch, also while the coordinator restarts.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <string>

#include "common/subprocess.h"
#include "tests/unit/cli/fake_coordinator.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

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

TEST(WatchTest, CtrlC_StopsTheWatchingOnly) {
  FakeCoordinator fake;
  fake.watches = {{Message(v1::CAMPAIGN_STATE_ACTIVE, v1::JOB_STATE_RUNNING)}};
  fake.hang_last_watch = true;
  fake.Start();
  Result<Pipe> pipe = MakePipe();
  ASSERT_TRUE(pipe.ok());
  SubprocessOptions options;
  options.argv = {ASSAY_PROGRAM, "campaign", "watch", "nightly", "--coordinator", fake.address()};
  options.descriptors = {{1, pipe->write.get()}, {2, pipe->write.get()}};
  Result<Subprocess> program = Subprocess::Spawn(options);
  ASSERT_TRUE(program.ok()) << program.status();
  pipe->write.Close();
  fake.AwaitHangingWatch();
  program->Signal(SIGINT);
  std::string text;
  char buffer[256];
  for (ssize_t got = 0; (got = read(pipe->read.get(), buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(got));
  }
  const std::optional<ExitStatus> exit = program->Wait(std::chrono::seconds(20));
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->code, 0) << exit->ToString();
  EXPECT_WORDING("cli/watch-interrupted", text.substr(text.find("Stopped")));
}

}  // namespace
}  // namespace assay::cli
