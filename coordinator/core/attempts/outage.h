// Logs each outage of the database only twice: when it begins and when it ends.
#pragma once

#include <algorithm>
#include <chrono>

#include "common/clock.h"
#include "common/log.h"
#include "common/mutex.h"
#include "common/status.h"

namespace assay::coordinator {

// The state of the database, up or down, as the last calls have found it. Thread-safe.
class Outage {
 public:
  // Records the outcome of an operation that is known to have used the database. Returns true if
  // the database did not respond.
  bool Note(const Status& status) {
    if (NoteFailure(status)) return true;
    MutexLock lock(mutex_);
    if (away_) Log().info("the database is back");
    away_ = false;
    return false;
  }

  // Records the outcome of an operation that may not have used the database. UNAVAILABLE shows that
  // the database is down, but success does not show that it is up. Returns true if the database did
  // not respond.
  bool NoteFailure(const Status& status) {
    if (status.code() != Code::kUnavailable) return false;
    MutexLock lock(mutex_);
    if (!away_) {
      Log().warn("the database is away; work waits and is retried: {}", status.message());
    }
    away_ = true;
    return true;
  }

 private:
  Mutex mutex_;
  bool away_ ASSAY_GUARDED_BY(mutex_) = false;
};

// Returns the delay before try number `attempt` (from 0): 100 ms, doubled up to 5 s.
inline Duration RetryDelay(int attempt) {
  constexpr Duration kFirst = std::chrono::milliseconds(100);
  constexpr Duration kMost = std::chrono::seconds(5);
  return std::min(kMost, kFirst * (1 << std::clamp(attempt, 0, 10)));
}

}  // namespace assay::coordinator
