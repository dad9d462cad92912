// A database that is down is said once, and once more when it is back.
#pragma once

#include <algorithm>
#include <chrono>

#include "common/clock.h"
#include "common/log.h"
#include "common/mutex.h"
#include "common/status.h"

namespace assay::coordinator {

// Thread-safe.
class Outage {
 public:
  // The outcome of work that surely asked the database; true if it was away.
  bool Note(const Status& status) {
    if (NoteFailure(status)) return true;
    MutexLock lock(mutex_);
    if (away_) Log().info("the database is back");
    away_ = false;
    return false;
  }

  // The outcome of work that may have asked it, so that success proves nothing.
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

// How long to wait before try number `attempt` (from 0): 100 ms, doubled, at most 5 s.
inline Duration RetryDelay(int attempt) {
  constexpr Duration kFirst = std::chrono::milliseconds(100);
  constexpr Duration kMost = std::chrono::seconds(5);
  return std::min(kMost, kFirst * (1 << std::clamp(attempt, 0, 10)));
}

}  // namespace assay::coordinator
