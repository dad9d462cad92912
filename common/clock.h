// Time, injected: real in programs, virtual in tests.
#pragma once

#include <chrono>

#include "common/mutex.h"

namespace assay {

using Duration = std::chrono::nanoseconds;
using MonotonicTime = std::chrono::time_point<std::chrono::steady_clock, Duration>;
using WallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Never goes back; for deadlines and intervals.
  virtual MonotonicTime Now() const = 0;
  // UTC; for records that people read. May jump.
  virtual WallTime WallNow() const = 0;

  // The machine's clock; lives as long as the program.
  static Clock& Real();
};

// Stands still until told to move.
class VirtualClock : public Clock {
 public:
  MonotonicTime Now() const override;
  WallTime WallNow() const override;
  void Advance(Duration by);

 private:
  mutable Mutex mutex_;
  Duration elapsed_ ASSAY_GUARDED_BY(mutex_){0};
};

}  // namespace assay
