// The contract of every ScheduleStore.
#pragma once

#include <string>
#include <vector>

#include "common/uuid.h"
#include "tests/contract/stores.h"
#include "wire/timestamps.h"

namespace assay::storage {

class ScheduleStoreContract : public StoreContract {
 protected:
  static constexpr WallTime kStart{std::chrono::seconds(1767225600)};  // 2026-01-01T00:00:00Z

  static WallTime Hours(int hours) { return kStart + std::chrono::hours(hours); }

  static v1::Schedule MakeSchedule(const std::string& name, WallTime next) {
    v1::Schedule schedule;
    schedule.set_schedule_id(NewUuid());
    schedule.set_name(name);
    schedule.set_cron("0 2 * * *");
    schedule.set_time_zone("Europe/Berlin");
    schedule.set_missed_runs(v1::MISSED_RUNS_SKIP);
    schedule.set_overlap(v1::OVERLAP_CANCEL);
    schedule.mutable_spec()->set_name("sweep");
    schedule.set_created_by("ann");
    *schedule.mutable_create_time() = schema::ToTimestamp(kStart);
    *schedule.mutable_next_time() = schema::ToTimestamp(next);
    return schedule;
  }

  v1::Schedule Created(const std::string& name, WallTime next = Hours(1)) {
    v1::Schedule schedule = MakeSchedule(name, next);
    const Status created = schedules().Create(schedule);
    EXPECT_TRUE(created.ok()) << created;
    return schedule;
  }

  v1::Schedule Stored(const std::string& id_or_name) {
    const auto found = schedules().Get(id_or_name);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() ? *found : v1::Schedule();
  }

  std::vector<std::string> Due(WallTime now, int limit = 100) {
    const auto due = schedules().ListDue(now, limit);
    EXPECT_TRUE(due.ok()) << due.status();
    std::vector<std::string> names;
    if (!due.ok()) return names;
    for (const v1::Schedule& one : *due) names.push_back(one.name());
    return names;
  }

  static RecordedRun RunAt(const v1::Schedule& schedule, WallTime due, WallTime next,
                           v1::ScheduledRun::Outcome outcome) {
    RecordedRun recorded;
    recorded.schedule_id = schedule.schedule_id();
    *recorded.run.mutable_time() = schema::ToTimestamp(due);
    recorded.run.set_outcome(outcome);
    if (outcome == v1::ScheduledRun::OUTCOME_CREATED) {
      recorded.run.set_campaign_id(NewUuid());
    } else {
      recorded.run.set_message("no node matches");
    }
    recorded.next_time = next;
    return recorded;
  }

  bool Record(const RecordedRun& recorded) {
    const auto effect = schedules().RecordRun(recorded);
    EXPECT_TRUE(effect.ok()) << effect.status();
    return effect.ok() && *effect;
  }
};

TEST_P(ScheduleStoreContract, StoredScheduleIsFoundByIdAndName) {
  const v1::Schedule schedule = Created("nightly");
  EXPECT_EQ(Stored("nightly").SerializeAsString(), schedule.SerializeAsString());
  EXPECT_EQ(Stored(schedule.schedule_id()).name(), "nightly");
  const auto unknown = schedules().Get("nightl");
  EXPECT_EQ(unknown.status().code(), Code::kNotFound);
  EXPECT_EQ(unknown.status().hint(), "did you mean \"nightly\"?");
}

TEST_P(ScheduleStoreContract, ListIsSortedByName) {
  for (const char* name : {"b", "B", "a", "ä"}) Created(name);
  const auto listed = schedules().List();
  ASSERT_TRUE(listed.ok()) << listed.status();
  std::vector<std::string> names;
  for (const v1::Schedule& one : *listed) names.push_back(one.name());
  EXPECT_EQ(names, (std::vector<std::string>{"B", "a", "b", "ä"}));
}

TEST_P(ScheduleStoreContract, NamesAreUnique_AndCreateMayBeRepeated) {
  const v1::Schedule schedule = Created("nightly");
  EXPECT_TRUE(schedules().Create(schedule).ok());
  const Status taken = schedules().Create(MakeSchedule("nightly", Hours(1)));
  EXPECT_EQ(taken.code(), Code::kAlreadyExists);
  EXPECT_EQ(taken.reason(), Reason::kScheduleExists);
  EXPECT_EQ(schedules().List()->size(), 1U);
}

TEST_P(ScheduleStoreContract, NumberOfSchedulesIsLimited) {
  for (int i = 0; i < kMaxSchedules; ++i) {
    ASSERT_TRUE(schedules().Create(MakeSchedule("s" + std::to_string(i), Hours(1))).ok());
  }
  EXPECT_EQ(schedules().Create(MakeSchedule("one more", Hours(1))).code(),
            Code::kFailedPrecondition);
}

TEST_P(ScheduleStoreContract, DeletedScheduleIsGoneWithItsRuns) {
  const v1::Schedule schedule = Created("nightly");
  ASSERT_TRUE(Record(RunAt(schedule, Hours(1), Hours(2), v1::ScheduledRun::OUTCOME_SKIPPED)));
  EXPECT_TRUE(schedules().Delete(schedule.schedule_id()).ok());
  EXPECT_TRUE(schedules().Delete(schedule.schedule_id()).ok());
  EXPECT_EQ(schedules().Get("nightly").status().code(), Code::kNotFound);
  EXPECT_FALSE(Record(RunAt(schedule, Hours(2), Hours(3), v1::ScheduledRun::OUTCOME_SKIPPED)));
  Created("nightly");
  EXPECT_EQ(Stored("nightly").runs_size(), 0);
}

TEST_P(ScheduleStoreContract, DueSchedulesAreListed_LongestDueFirst) {
  Created("late", Hours(2));
  Created("early", Hours(1));
  Created("future", Hours(3));
  using Names = std::vector<std::string>;
  EXPECT_EQ(Due(Hours(1) - std::chrono::microseconds(1)), Names{});
  EXPECT_EQ(Due(Hours(1)), Names{"early"});
  EXPECT_EQ(Due(Hours(2)), (Names{"early", "late"}));
  EXPECT_EQ(Due(Hours(2), 1), Names{"early"});
  EXPECT_EQ(schedules().ListDue(Hours(2), 1)->at(0).spec().name(), "sweep");
}

TEST_P(ScheduleStoreContract, RunIsRecordedOncePerDueTime) {
  const v1::Schedule schedule = Created("nightly");
  const RecordedRun run = RunAt(schedule, Hours(1), Hours(25), v1::ScheduledRun::OUTCOME_CREATED);
  EXPECT_FALSE(Record(RunAt(schedule, Hours(2), Hours(25), v1::ScheduledRun::OUTCOME_FAILED)))
      << "it is not due then";
  EXPECT_TRUE(Record(run));
  EXPECT_FALSE(Record(run));
  EXPECT_TRUE(Record(RunAt(schedule, Hours(25), Hours(49), v1::ScheduledRun::OUTCOME_FAILED)));
  const v1::Schedule stored = Stored("nightly");
  EXPECT_EQ(schema::FromTimestamp(stored.next_time()), Hours(49));
  ASSERT_EQ(stored.runs_size(), 2);
  EXPECT_EQ(stored.runs(0).outcome(), v1::ScheduledRun::OUTCOME_FAILED);
  EXPECT_EQ(stored.runs(0).message(), "no node matches");
  EXPECT_EQ(stored.runs(1).SerializeAsString(), run.run.SerializeAsString());
  EXPECT_EQ(Due(Hours(48)), std::vector<std::string>{});
}

TEST_P(ScheduleStoreContract, NewestRunsAreKept_AndTheNewestCampaign) {
  const v1::Schedule schedule = Created("hourly");
  for (int hour = 1; hour <= 30; ++hour) {
    ASSERT_TRUE(Record(RunAt(schedule, Hours(hour), Hours(hour + 1),
                             hour == 3 || hour == 5 ? v1::ScheduledRun::OUTCOME_CREATED
                                                    : v1::ScheduledRun::OUTCOME_SKIPPED)));
  }
  const v1::Schedule stored = Stored("hourly");
  ASSERT_EQ(stored.runs_size(), kKeptRuns);
  for (int i = 0; i < kKeptRuns - 1; ++i) {
    EXPECT_EQ(schema::FromTimestamp(stored.runs(i).time()), Hours(30 - i));
  }
  EXPECT_EQ(schema::FromTimestamp(stored.runs(kKeptRuns - 1).time()), Hours(5));
}

TEST_P(ScheduleStoreContract, RunOfAnEarlierTermChangesNothing) {
  const v1::Schedule schedule = Created("nightly");
  const int64_t before = fleet().Elect("a", "a:7900", std::chrono::minutes(1))->term;
  stores_->ExpireLeases();
  const int64_t now = fleet().Elect("b", "b:7900", std::chrono::minutes(1))->term;
  RecordedRun run = RunAt(schedule, Hours(1), Hours(2), v1::ScheduledRun::OUTCOME_CREATED);
  run.term = before;
  EXPECT_FALSE(Record(run));
  EXPECT_EQ(Stored("nightly").runs_size(), 0);
  run.term = now;
  EXPECT_TRUE(Record(run));
}

TEST_P(ScheduleStoreContract, CampaignNamesItsSchedule) {
  NewCampaign campaign = MakeCampaign({MakeJob({"a"})});
  campaign.spec.set_schedule("nightly");
  Create(campaign);
  EXPECT_EQ(Campaign(campaign.campaign_id).schedule(), "nightly");
  EXPECT_EQ(Campaign(campaign.campaign_id).spec().schedule(), "");
  EXPECT_EQ(jobs().ListCampaigns({10, ""})->items.at(0).schedule(), "nightly");
}

}  // namespace assay::storage
