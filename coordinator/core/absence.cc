#include "coordinator/core/absence.h"

#include <algorithm>

#include "common/log.h"
#include "common/units.h"

namespace assay::coordinator {

Absence::Absence(const Clock& clock, Duration lease)
    : clock_(clock),
      lease_(lease),
      standstill_(NoneAt(clock.Now())),
      outage_(standstill_.end),
      next_poll_(standstill_.end) {}

void Absence::NotePoll() {
  MutexLock lock(mutex_);
  const MonotonicTime now = clock_.Now();
  if (!StandsStill(now)) return;
  Log().warn("this process stood still for {}: agents have a lease to speak up",
             FormatDuration(now - next_poll_));
  standstill_ = {next_poll_, now};
}

void Absence::NotePolled(Duration next) {
  MutexLock lock(mutex_);
  next_poll_ = clock_.Now() + next;
}

void Absence::NoteOutage() {
  MutexLock lock(mutex_);
  outage_ = clock_.Now();
}

MonotonicTime Absence::Last(MonotonicTime now) const {
  MutexLock lock(mutex_);
  return std::max(Standstill(now).end, outage_);
}

bool Absence::SilenceCounts() const {
  const MonotonicTime now = clock_.Now();
  return now >= Last(now) + lease_;
}

bool Absence::Recent() const {
  const MonotonicTime now = clock_.Now();
  return now < Last(now) + 2 * lease_;
}

bool Absence::Excuses(MonotonicTime last_heard) const {
  MutexLock lock(mutex_);
  const Span span = Standstill(clock_.Now());
  if (span.begin == span.end) return false;  // It never did.
  // Agents report at least twice a lease. What they said before they left is read behind the end.
  return last_heard >= span.begin - lease_ / 2 && last_heard < span.end + lease_ / 2;
}

}  // namespace assay::coordinator
