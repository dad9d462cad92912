#include "cli/views/schedule_view.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/wording.h"

namespace assay::cli {
namespace {

constexpr int64_t kNight = 1795741200;  // 2026-11-27T01:00:00Z
constexpr int64_t kDay = 86400;

v1::Schedule MakeSchedule(const std::string& name, const std::string& zone) {
  v1::Schedule schedule;
  schedule.set_schedule_id("3f2a91c0-1111-4222-8333-444455556666");
  schedule.set_name(name);
  schedule.set_cron("0 2 * * 1-5");
  schedule.set_time_zone(zone);
  schedule.set_missed_runs(v1::MISSED_RUNS_ONCE);
  schedule.set_overlap(v1::OVERLAP_SKIP);
  schedule.mutable_spec()->set_name("sweep");
  schedule.set_created_by("ann");
  schedule.mutable_create_time()->set_seconds(kNight - 30 * kDay);
  schedule.mutable_next_time()->set_seconds(kNight);
  return schedule;
}

v1::ScheduledRun* AddRun(v1::Schedule& schedule, v1::ScheduledRun::Outcome outcome,
                         const std::string& message) {
  v1::ScheduledRun* run = schedule.add_runs();
  run->mutable_time()->set_seconds(kNight - schedule.runs_size() * kDay);
  run->set_outcome(outcome);
  run->set_message(message);
  if (outcome == v1::ScheduledRun::OUTCOME_CREATED) {
    run->set_campaign_id("8a0c5f1e-2222-8333-a444-555555555555");
  }
  return run;
}

std::vector<v1::Schedule> Schedules() {
  std::vector<v1::Schedule> schedules = {MakeSchedule("nightly", "Europe/Berlin"),
                                         MakeSchedule("nightly-pairs", "America/New_York"),
                                         MakeSchedule("new", "UTC"), MakeSchedule("weekly", "UTC")};
  AddRun(schedules[0], v1::ScheduledRun::OUTCOME_CREATED, "");
  AddRun(schedules[1], v1::ScheduledRun::OUTCOME_FAILED,
         "the campaign has an error: nodes: no connected node matches gpu.model = \"B300\"; the "
         "connected nodes have H100 and H200\x1b[2J");
  AddRun(schedules[1], v1::ScheduledRun::OUTCOME_CREATED, "");
  AddRun(schedules[3], v1::ScheduledRun::OUTCOME_SKIPPED,
         "campaign 8a0c5f1e-2222-8333-a444-555555555555 of the run of 2026-11-25T01:00:00Z is "
         "still active");
  return schedules;
}

TEST(ScheduleViewTest, TableFitsNarrowAndWideTerminals) {
  EXPECT_WORDING("views/schedules-80", SchedulesText(Schedules(), {80, false}));
  EXPECT_WORDING("views/schedules-200", SchedulesText(Schedules(), {200, false}));
}

TEST(ScheduleViewTest, CsvHasOneRecordPerSchedule) {
  EXPECT_WORDING("views/schedules-csv", SchedulesCsv(Schedules()));
}

}  // namespace
}  // namespace assay::cli
