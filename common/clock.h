// The clock that programs pass to their parts, so that tests can replace it.
#pragma once

#include <chrono>

namespace assay {

using Duration = std::chrono::nanoseconds;
using MonotonicTime = std::chrono::time_point<std::chrono::steady_clock, Duration>;
using WallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Returns a time that never goes back, for deadlines and intervals.
  virtual MonotonicTime Now() const = 0;
  // Returns UTC, for records that people read. May jump.
  virtual WallTime WallNow() const = 0;

  // Returns the machine's clock, which lives as long as the program.
  static Clock& Real();
};

}  // namespace assay
