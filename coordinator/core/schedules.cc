#include "coordinator/core/schedules.h"

#include <algorithm>
#include <utility>

#include "campaign/cron.h"
#include "common/digest.h"
#include "common/log.h"
#include "common/text.h"
#include "common/units.h"
#include "coordinator/core/guarded.h"
#include "storage/store_rules.h"
#include "wire/field.h"
#include "wire/timestamps.h"

namespace assay::coordinator {
namespace {

using campaign::Cron;

constexpr size_t kMaxNameBytes = 200;
// Maximum size of the campaign of one schedule, so that 1,000 schedules fit into memory.
constexpr size_t kMaxSpecBytes = 64 * 1024;
constexpr size_t kMaxMessageBytes = 400;
constexpr int kNextTimes = 5;
constexpr int kDueAtOnce = 100;
// A run that is later than this counts as missed.
constexpr Duration kMissed = std::chrono::minutes(5);
// Time until the next try if the time zone of a schedule is unknown on this machine.
constexpr Duration kZoneRetry = std::chrono::hours(1);

Result<Cron> CronOf(const v1::Schedule& schedule) {
  return Cron::Parse(schedule.cron(), schedule.time_zone());
}

// Returns a UUID that depends only on the schedule and on the time at which the run was due.
std::string RunId(const std::string& schedule_id, WallTime due) {
  std::string id = Sha256Hex(schedule_id + " " +
                             std::to_string(due.time_since_epoch() / std::chrono::microseconds(1)))
                       .substr(0, 32);
  id[12] = '8';  // The version for UUIDs of an own form.
  id[16] = 'a';
  for (const size_t position : {8, 13, 18, 23}) id.insert(position, 1, '-');
  return id;
}

Status CheckSchedule(const v1::Schedule& schedule) {
  const auto invalid = [](const std::string& message) {
    return InvalidArgument(message, Reason::kInvalidSchedule);
  };
  if (schedule.name().empty()) return invalid("name is missing; a schedule needs a name");
  if (schedule.name().size() > kMaxNameBytes || !IsPlainText(schedule.name())) {
    return invalid("name must be at most 200 bytes without control characters");
  }
  if (!v1::MissedRuns_IsValid(schedule.missed_runs())) {
    return invalid("missed_runs must be once or skip");
  }
  if (!v1::Overlap_IsValid(schedule.overlap())) {
    return invalid("overlap must be skip, allow or cancel");
  }
  if (schedule.spec().ByteSizeLong() > kMaxSpecBytes) {
    return invalid("the campaign has " + std::to_string(schedule.spec().ByteSizeLong()) +
                   " bytes; that of a schedule may have 65536");
  }
  return Status::Ok();
}

// Returns the newest run that created a campaign, or null.
const v1::ScheduledRun* LastCreated(const v1::Schedule& schedule) {
  const auto found = std::find_if(
      schedule.runs().begin(), schedule.runs().end(),
      [](const auto& run) { return run.outcome() == v1::ScheduledRun::OUTCOME_CREATED; });
  return found == schedule.runs().end() ? nullptr : &*found;
}

std::string MessageOf(const Status& status) {
  return Cut(status.message() + (status.hint().empty() ? "" : "; " + status.hint()),
             kMaxMessageBytes);
}

}  // namespace

Result<v1::CreateScheduleResponse> Schedules::Create(const v1::CreateScheduleRequest& request,
                                                     const std::string& schedule_id,
                                                     const Identity& caller) {
  const v1::Schedule& wanted = request.schedule();
  ASSAY_RETURN_IF_ERROR(CheckSchedule(wanted));
  const Result<Cron> cron = CronOf(wanted);
  if (!cron.ok()) return cron.status();
  v1::CreateScheduleResponse response;
  ASSAY_ASSIGN_OR_RETURN(std::optional<v1::Campaign> campaign, campaigns_.check(wanted.spec()));
  if (campaign) *response.mutable_campaign() = *std::move(campaign);

  v1::Schedule& schedule = *response.mutable_schedule();
  schedule.set_schedule_id(schedule_id);
  schedule.set_name(wanted.name());
  schedule.set_cron(wanted.cron());
  schedule.set_time_zone(wanted.time_zone().empty() ? "UTC" : wanted.time_zone());
  schedule.set_missed_runs(wanted.missed_runs() == v1::MISSED_RUNS_UNSPECIFIED
                               ? v1::MISSED_RUNS_ONCE
                               : wanted.missed_runs());
  schedule.set_overlap(wanted.overlap() == v1::OVERLAP_UNSPECIFIED ? v1::OVERLAP_SKIP
                                                                   : wanted.overlap());
  *schedule.mutable_spec() = wanted.spec();
  schedule.set_created_by(caller.id);
  const WallTime now = environment_.clock.WallNow();
  *schedule.mutable_create_time() = schema::ToTimestamp(now);
  WallTime time = now;
  for (int i = 0; i < kNextTimes; ++i) {
    time = cron->NextTime(time);
    *response.add_next_times() = schema::ToTimestamp(time);
  }
  *schedule.mutable_next_time() = response.next_times(0);
  if (request.validate_only()) {
    const Status known = environment_.schedules.Get(wanted.name()).status();
    if (known.ok()) return storage::ScheduleExists(wanted.name());
    if (known.code() != Code::kNotFound) return known;
    schedule.clear_schedule_id();
    return response;
  }
  ASSAY_RETURN_IF_ERROR(environment_.schedules.Create(schedule));
  Log().info("schedule {} ({}): {} in {}", schedule.name(), schedule_id, schedule.cron(),
             schedule.time_zone());
  return response;
}

Result<std::vector<v1::Schedule>> Schedules::List() {
  ASSAY_ASSIGN_OR_RETURN(std::vector<v1::Schedule> schedules, environment_.schedules.List());
  for (v1::Schedule& schedule : schedules) {
    v1::CampaignSpec bare;
    bare.set_name(schedule.spec().name());
    *schedule.mutable_spec() = std::move(bare);
  }
  return schedules;
}

Status Schedules::Delete(const std::string& id_or_name, const Identity& caller) {
  ASSAY_ASSIGN_OR_RETURN(const v1::Schedule schedule, environment_.schedules.Get(id_or_name));
  if (caller.role == Role::kSubmitter && schedule.created_by() != caller.id) {
    return Status(Code::kPermissionDenied, Reason::kNotPermitted,
                  "schedule " + Quote(schedule.name()) + " was created by " +
                      Quote(schedule.created_by()))
        .WithHint("a submitter may remove its own schedules; an operator may remove any");
  }
  ASSAY_RETURN_IF_ERROR(environment_.schedules.Delete(schedule.schedule_id()));
  Log().info("schedule {} ({}) was removed", schedule.name(), schedule.schedule_id());
  return Status::Ok();
}

Status Schedules::RunDue() {
  const MonotonicTime begin = environment_.clock.Now();
  const WallTime now = environment_.clock.WallNow();
  ASSAY_ASSIGN_OR_RETURN(const std::vector<v1::Schedule> due,
                         environment_.schedules.ListDue(now, kDueAtOnce));
  for (const v1::Schedule& schedule : due) {
    const Status ran = Guarded("RunSchedule", [&] { return RunOne(schedule, now); });
    if (ran.code() == Code::kUnavailable) return ran;
    if (!ran.ok()) Log().error("schedule {}: {}", schedule.name(), ran.ToString());
    if (environment_.clock.Now() - begin >= options_.poll) break;
  }
  return Status::Ok();
}

Status Schedules::RunOne(const v1::Schedule& schedule, WallTime now) {
  const WallTime due = schema::FromTimestamp(schedule.next_time());
  storage::RecordedRun recorded;
  recorded.schedule_id = schedule.schedule_id();
  recorded.term = leadership_.Term();
  const Result<Cron> cron = CronOf(schedule);
  if (cron.ok()) {
    ASSAY_ASSIGN_OR_RETURN(recorded.run, Run(schedule, now));
    // Find the time of the next run. Normally, it is in the future, and all missed runs are
    // dropped. However, if this run was skipped because it was late, a run missed by less than
    // kMissed may come next.
    const bool skipped = recorded.run.outcome() == v1::ScheduledRun::OUTCOME_SKIPPED &&
                         schedule.missed_runs() == v1::MISSED_RUNS_SKIP && now - due >= kMissed;
    recorded.next_time = cron->NextTime(std::max(due, skipped ? now - kMissed : now));
  } else {
    recorded.run.set_outcome(v1::ScheduledRun::OUTCOME_FAILED);
    recorded.run.set_message(MessageOf(cron.status()));
    recorded.next_time = now + kZoneRetry;
  }
  *recorded.run.mutable_time() = schedule.next_time();
  ASSAY_ASSIGN_OR_RETURN(const bool effect, environment_.schedules.RecordRun(recorded));
  if (!effect) return Status::Ok();
  const std::string outcome =
      schema::EnumWord(*v1::ScheduledRun::Outcome_descriptor(), recorded.run.outcome());
  environment_.observer.ScheduleRan(outcome);
  const std::string time = schema::TimeText(schedule.next_time());
  if (recorded.run.outcome() == v1::ScheduledRun::OUTCOME_CREATED) {
    Log().info("schedule {}: the run of {} created campaign {}", schedule.name(), time,
               recorded.run.campaign_id());
  } else {
    Log().warn("schedule {}: the run of {} was {}: {}", schedule.name(), time,
               outcome == "failed" ? "not created" : outcome, recorded.run.message());
  }
  return Status::Ok();
}

Result<v1::ScheduledRun> Schedules::Run(const v1::Schedule& schedule, WallTime now) {
  const WallTime due = schema::FromTimestamp(schedule.next_time());
  const std::string id = RunId(schedule.schedule_id(), due);
  v1::ScheduledRun run;
  const auto with = [&](v1::ScheduledRun::Outcome outcome, std::string message) {
    run.set_outcome(outcome);
    run.set_message(std::move(message));
    return run;
  };
  const Result<v1::Campaign> before = environment_.jobs.GetCampaign(id);
  if (before.status().code() == Code::kUnavailable) return before.status();
  if (before.ok() && before->campaign_id() == id) {
    run.set_campaign_id(id);
    return with(v1::ScheduledRun::OUTCOME_CREATED, "");
  }
  if (schedule.missed_runs() == v1::MISSED_RUNS_SKIP && now - due >= kMissed) {
    return with(
        v1::ScheduledRun::OUTCOME_SKIPPED,
        "no coordinator was there to start it; it was late by " + FormatDuration(now - due));
  }
  const v1::ScheduledRun* const last = LastCreated(schedule);
  if (last != nullptr && schedule.overlap() != v1::OVERLAP_ALLOW) {
    const Result<v1::Campaign> earlier = environment_.jobs.GetCampaign(last->campaign_id());
    if (earlier.status().code() == Code::kUnavailable) return earlier.status();
    if (earlier.ok() && earlier->state() == v1::CAMPAIGN_STATE_ACTIVE) {
      if (schedule.overlap() != v1::OVERLAP_CANCEL) {
        return with(v1::ScheduledRun::OUTCOME_SKIPPED,
                    "campaign " + last->campaign_id() + " of the run of " +
                        schema::TimeText(last->time()) + " is still active");
      }
      ASSAY_RETURN_IF_ERROR(campaigns_.cancel(last->campaign_id()));
    }
  }
  v1::CampaignSpec spec = schedule.spec();
  spec.set_submitted_by(schedule.created_by());
  spec.set_schedule(schedule.name());
  const Status created = campaigns_.create(spec, id).status();
  // If the database is unavailable, return the error, so that the run is retried later. Do not
  // retry if a statement timed out, because a campaign that overloads the database would then block
  // all other schedules.
  if (created.code() == Code::kUnavailable && created.reason() != Reason::kStatementTimeout) {
    return created;
  }
  if (!created.ok() && created.reason() != Reason::kCampaignExists) {
    return with(v1::ScheduledRun::OUTCOME_FAILED, MessageOf(created));
  }
  run.set_campaign_id(id);
  return with(v1::ScheduledRun::OUTCOME_CREATED, "");
}

}  // namespace assay::coordinator
