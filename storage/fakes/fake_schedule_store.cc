#include <algorithm>

#include "storage/fakes/fake_stores.h"
#include "storage/store_rules.h"
#include "wire/timestamps.h"

namespace assay::storage {
namespace {

// Keeps kKeptRuns of the runs, which are sorted newest first.
void DropOldRuns(google::protobuf::RepeatedPtrField<v1::ScheduledRun>* runs) {
  while (runs->size() > kKeptRuns) {
    const auto created = std::find_if(runs->begin(), runs->end(), [](const auto& run) {
      return run.outcome() == v1::ScheduledRun::OUTCOME_CREATED;
    });
    const bool last = created != runs->end() && created + 1 == runs->end();
    runs->erase(runs->end() - (last ? 2 : 1));
  }
}

}  // namespace

Status FakeScheduleStore::Create(const v1::Schedule& schedule) {
  MutexLock lock(database_.mutex);
  const auto known = database_.schedules.find(schedule.name());
  if (known != database_.schedules.end()) {
    return known->second.schedule_id() == schedule.schedule_id() ? Status::Ok()
                                                                 : ScheduleExists(schedule.name());
  }
  if (database_.schedules.size() >= static_cast<size_t>(kMaxSchedules)) return TooManySchedules();
  v1::Schedule& stored = database_.schedules[schedule.name()] = schedule;
  stored.clear_runs();
  return Status::Ok();
}

Result<v1::Schedule> FakeScheduleStore::Get(const std::string& id_or_name) {
  MutexLock lock(database_.mutex);
  std::vector<std::string> names;
  for (const auto& [name, schedule] : database_.schedules) {
    if (schedule.schedule_id() == id_or_name) return schedule;
    names.push_back(name);
  }
  const auto found = database_.schedules.find(id_or_name);
  if (found == database_.schedules.end()) return NoSuch("schedule", id_or_name, names);
  return found->second;
}

Result<std::vector<v1::Schedule>> FakeScheduleStore::List() {
  MutexLock lock(database_.mutex);
  std::vector<v1::Schedule> schedules;
  for (const auto& [unused, schedule] : database_.schedules) schedules.push_back(schedule);
  return schedules;
}

Status FakeScheduleStore::Delete(const std::string& schedule_id) {
  MutexLock lock(database_.mutex);
  std::erase_if(database_.schedules,
                [&](const auto& entry) { return entry.second.schedule_id() == schedule_id; });
  return Status::Ok();
}

Result<std::vector<v1::Schedule>> FakeScheduleStore::ListDue(WallTime now, int limit) {
  MutexLock lock(database_.mutex);
  std::vector<v1::Schedule> due;
  const auto next = [](const v1::Schedule& one) { return schema::FromTimestamp(one.next_time()); };
  for (const auto& [unused, schedule] : database_.schedules) {
    if (next(schedule) <= now) due.push_back(schedule);
  }
  std::stable_sort(due.begin(), due.end(),
                   [&](const auto& a, const auto& b) { return next(a) < next(b); });
  due.resize(std::min(due.size(), static_cast<size_t>(limit)));
  return due;
}

Result<bool> FakeScheduleStore::RecordRun(const RecordedRun& recorded) {
  MutexLock lock(database_.mutex);
  if (!database_.IsTerm(recorded.term)) return false;
  for (auto& [unused, schedule] : database_.schedules) {
    if (schedule.schedule_id() != recorded.schedule_id) continue;
    if (schema::FromTimestamp(schedule.next_time()) != schema::FromTimestamp(recorded.run.time())) {
      return false;
    }
    *schedule.mutable_next_time() = schema::ToTimestamp(recorded.next_time);
    auto* runs = schedule.mutable_runs();
    *runs->Add() = recorded.run;
    std::rotate(runs->begin(), runs->end() - 1, runs->end());
    DropOldRuns(runs);
    return true;
  }
  return false;
}

}  // namespace assay::storage
