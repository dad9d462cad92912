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
  // Every outcome of a store call goes through here; true if the database was away.
  bool Note(const Status& status) {
    const bool away = status.code() == Code::kUnavailable;
    MutexLock lock(mutex_);
    if (away != away_) {
      away_ = away;
      if (away) {
        Log().warn("the database is away; work waits and is retried: {}", status.message());
      } else {
        Log().info("the database is back");
      }
    }
    return away;
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
