// assay schedule add, list and remove.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/temporary_folder.h"
#include "tests/unit/cli/fake_coordinator.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

class ScheduleTest : public testing::Test {
 protected:
  ScheduleTest() {
    std::ofstream(path_) << "name: sweep\nbenchmarks: [cpu_gemm]\n";
    constexpr int64_t kFirst = 1795741200;  // 2026-11-27T01:00:00Z
    for (int i = 0; i < 5; ++i) {
      fake_.schedule.add_next_times()->set_seconds(kFirst + i * 86400);
    }
  }

  ProgramRun Run(const std::vector<std::string>& arguments) {
    if (fake_.port() == 0) fake_.Start();
    return RunAssay(arguments, fake_.address());
  }

  // Replaces the path of the temporary folder.
  std::string Text(std::string text) const {
    for (size_t at = text.find(path_); at != std::string::npos; at = text.find(path_)) {
      text.replace(at, path_.size(), "sweep.yaml");
    }
    return text;
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/sweep.yaml";
  FakeCoordinator fake_;
};

TEST_F(ScheduleTest, Add_SendsTheFileAndThePolicies) {
  fake_.schedule.mutable_campaign()->mutable_jobs()->set_queued(3);
  fake_.schedule.mutable_campaign()->set_case_count(12);
  const ProgramRun run =
      Run({"schedule", "add", path_, "--cron", "0 2 * * 1-5", "--time-zone", "Europe/Berlin",
           "--name", "nightly", "--missed", "skip", "--overlap", "cancel"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const v1::CreateScheduleRequest request = fake_.last_schedule();
  EXPECT_FALSE(request.validate_only());
  EXPECT_EQ(request.schedule().name(), "nightly");
  EXPECT_EQ(request.schedule().cron(), "0 2 * * 1-5");
  EXPECT_EQ(request.schedule().time_zone(), "Europe/Berlin");
  EXPECT_EQ(request.schedule().missed_runs(), v1::MISSED_RUNS_SKIP);
  EXPECT_EQ(request.schedule().overlap(), v1::OVERLAP_CANCEL);
  EXPECT_EQ(request.schedule().spec().name(), "sweep");
  EXPECT_WORDING("cli/schedule-add", run.out);
}

TEST_F(ScheduleTest, Add_DefaultsToTheCampaignsNameAndUtc) {
  // The fake coordinator would create the campaign, so there is nothing to warn of.
  fake_.campaigns.emplace_back().set_campaign_id("c1");
  const ProgramRun run = Run({"schedule", "add", path_, "--cron", "@daily", "--dry-run"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_TRUE(fake_.last_schedule().validate_only());
  EXPECT_EQ(fake_.last_schedule().schedule().name(), "sweep");
  EXPECT_EQ(fake_.last_schedule().schedule().time_zone(), "UTC");
  EXPECT_EQ(fake_.last_schedule().schedule().missed_runs(), v1::MISSED_RUNS_ONCE);
  EXPECT_EQ(fake_.last_schedule().schedule().overlap(), v1::OVERLAP_SKIP);
  EXPECT_WORDING("cli/schedule-dry-run", Text(run.out));
}

TEST_F(ScheduleTest, Add_WarnsIfNodesAreMissingNow) {
  fake_.create_error = InvalidArgument("1 fault", Reason::kInvalidCampaign)
                           .WithViolations({{"nodes", "no connected node matches", 2}});
  const ProgramRun run = Run({"schedule", "add", path_, "--cron", "@daily"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_WORDING("cli/schedule-nodes-missing", Text(run.err));
}

TEST_F(ScheduleTest, Add_RefusedSchedules_ExitWith2) {
  fake_.schedule_error =
      InvalidArgument("day 30 of February does not exist: 0 0 30 2 *", Reason::kInvalidSchedule);
  EXPECT_EQ(Run({"schedule", "add", path_, "--cron", "0 0 30 2 *"}).exit_code, 2);
  EXPECT_EQ(Run({"schedule", "add", path_}).exit_code, 2);
  EXPECT_EQ(Run({"schedule", "add", path_, "--cron", "@daily", "--missed", "all"}).exit_code, 2);
  EXPECT_EQ(Run({"schedule", "add", "/nonexistent", "--cron", "@daily"}).exit_code, 2);
}

TEST_F(ScheduleTest, List_HasAllForms) {
  EXPECT_EQ(Run({"schedule", "list"}).out, "");
  v1::Schedule& schedule = fake_.schedules.emplace_back();
  schedule.set_name("nightly");
  schedule.set_overlap(v1::OVERLAP_SKIP);
  schedule.add_runs()->set_outcome(v1::ScheduledRun::OUTCOME_FAILED);
  fake_.Stop();
  fake_.Start();
  EXPECT_NE(Run({"schedule", "list"}).out.find("nightly"), std::string::npos);
  EXPECT_NE(Run({"schedule", "list", "-o", "csv"}).out.find("nightly"), std::string::npos);
  const auto json = nlohmann::json::parse(Run({"schedule", "list", "-o", "json"}).out);
  ASSERT_EQ(json.size(), 1U);
  EXPECT_EQ(json[0]["overlap"], "skip");
  EXPECT_EQ(json[0]["runs"][0]["outcome"], "failed");
}

TEST_F(ScheduleTest, Remove_SaysThatCampaignsStay) {
  fake_.schedules.emplace_back().set_name("nightly");
  EXPECT_WORDING("cli/schedule-remove", Run({"schedule", "remove", "nightly"}).out);
  EXPECT_EQ(Run({"schedule", "remove", "weekly"}).exit_code, 4);
}

}  // namespace
}  // namespace assay::cli
