#include "coordinator/core/attempts/grace_period.h"

#include <algorithm>
#include <chrono>

#include "common/log.h"
#include "common/units.h"

namespace assay::coordinator {
namespace {

// The longest time that an agent waits between two attempts to connect.
constexpr Duration kReconnect = std::chrono::minutes(1);

}  // namespace

GracePeriod::GracePeriod(const Clock& clock, Duration lease)
    : clock_(clock),
      lease_(lease),
      end_(clock.Now() + lease),
      poll_began_(clock.Now()),
      next_poll_(clock.Now()) {}

void GracePeriod::Begin() {
  MutexLock lock(mutex_);
  end_ = std::max(end_, clock_.Now() + lease_);
}

void GracePeriod::BeginPoll() {
  MutexLock lock(mutex_);
  poll_began_ = clock_.Now();
  if (!IsLate(poll_began_)) return;
  Log().warn("this process was suspended for {}; agents get time to come back",
             FormatDuration(poll_began_ - next_poll_));
  end_ = poll_began_ + lease_ + kReconnect;
}

void GracePeriod::EndPoll(Duration next, bool database_away) {
  MutexLock lock(mutex_);
  const MonotonicTime now = clock_.Now();
  if (database_away || now - poll_began_ > lease_ / 2) end_ = now + lease_ + kReconnect;
  next_poll_ = now + next;
}

bool GracePeriod::Active() const {
  MutexLock lock(mutex_);
  const MonotonicTime now = clock_.Now();
  return now < end_ || IsLate(now);
}

}  // namespace assay::coordinator
