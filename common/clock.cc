#include "common/clock.h"

namespace assay {
namespace {

class RealClock : public Clock {
 public:
  MonotonicTime Now() const override { return std::chrono::steady_clock::now(); }
  WallTime WallNow() const override { return std::chrono::system_clock::now(); }
};

}  // namespace

Clock& Clock::Real() {
  static RealClock clock;
  return clock;
}

MonotonicTime VirtualClock::Now() const {
  MutexLock lock(mutex_);
  return MonotonicTime(elapsed_);
}

WallTime VirtualClock::WallNow() const {
  using namespace std::chrono_literals;
  static constexpr WallTime kStart{1767225600s};  // 2026-01-01T00:00:00Z
  MutexLock lock(mutex_);
  return kStart + elapsed_;
}

void VirtualClock::Advance(Duration by) {
  MutexLock lock(mutex_);
  elapsed_ += by;
}

}  // namespace assay
