#pragma once

#include "common/clock.h"
#include "common/mutex.h"

namespace assay {

// A clock that moves only when a test advances it. Thread-safe.
class VirtualClock : public Clock {
 public:
  MonotonicTime Now() const override {
    MutexLock lock(mutex_);
    return MonotonicTime(elapsed_);
  }

  WallTime WallNow() const override {
    static constexpr WallTime kStart{std::chrono::seconds(1767225600)};  // 2026-01-01T00:00:00Z
    MutexLock lock(mutex_);
    return kStart + elapsed_ + jumped_;
  }

  void Advance(Duration by) {
    MutexLock lock(mutex_);
    elapsed_ += by;
  }

  // Sets the wall clock forward or back, as an administrator does.
  void JumpWall(Duration by) {
    MutexLock lock(mutex_);
    jumped_ += by;
  }

 private:
  mutable Mutex mutex_;
  Duration elapsed_ ASSAY_GUARDED_BY(mutex_){0};
  Duration jumped_ ASSAY_GUARDED_BY(mutex_){0};
};

}  // namespace assay
