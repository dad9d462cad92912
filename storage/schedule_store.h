// Stores campaigns that recur. Implementations must pass tests/contract/schedule_store_contract.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/v1/schedule_service.pb.h"
#include "common/clock.h"
#include "common/status.h"

namespace assay::storage {

inline constexpr int kMaxSchedules = 1000;
// The number of runs kept per schedule: the newest ones, but always including the newest run that
// created a campaign.
inline constexpr int kKeptRuns = 10;

// A run of a schedule, to be stored.
struct RecordedRun {
  std::string schedule_id;
  v1::ScheduledRun run;  // `time` is when it was due.
  WallTime next_time{};  // When the schedule is due next.
  // The caller's term as scheduler, or 0 for a caller that needs none.
  int64_t term = 0;
};

// A store of schedules. Thread-safe. Calls block on the database. Times are stored in microseconds.
class ScheduleStore {
 public:
  virtual ~ScheduleStore() = default;

  // Stores a schedule without its runs. Does nothing if a schedule with both this id and this name
  // already exists. Returns ALREADY_EXISTS with reason SCHEDULE_EXISTS if another schedule has the
  // name, and FAILED_PRECONDITION if there are already kMaxSchedules schedules.
  virtual Status Create(const v1::Schedule& schedule) = 0;
  // Returns the schedule with this id or name. NOT_FOUND, with a hint if a name is similar.
  virtual Result<v1::Schedule> Get(const std::string& id_or_name) = 0;
  // Sorted by name, in the order of bytes.
  virtual Result<std::vector<v1::Schedule>> List() = 0;
  // Deletes a schedule with its runs. Does nothing if there is none with this id.
  virtual Status Delete(const std::string& schedule_id) = 0;

  // Returns the schedules whose next_time has come, longest due first, at most `limit`.
  virtual Result<std::vector<v1::Schedule>> ListDue(WallTime now, int limit) = 0;
  // Stores a run and the time at which the schedule is next due, atomically. Changes nothing and
  // returns false if the schedule is not due at the time of the run any more, or if another
  // scheduler has been elected since `term`.
  virtual Result<bool> RecordRun(const RecordedRun& recorded) = 0;
};

}  // namespace assay::storage
