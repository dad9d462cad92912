#include "coordinator/core/attempts/absence.h"

#include <algorithm>

#include "common/log.h"
#include "common/units.h"

namespace assay::coordinator {

Absence::Absence(const Clock& clock, Duration lease)
    : clock_(clock),
      lease_(lease),
      standstill_(NoneAt(clock.Now())),
      outage_(standstill_),
      poll_began_(standstill_.end),
      next_poll_(standstill_.end) {}

void Absence::NotePoll() {
  MutexLock lock(mutex_);
  const MonotonicTime now = clock_.Now();
  poll_began_ = now;
  if (!StandsStill(now)) return;
  Log().warn("this process stood still for {}: agents have a lease to speak up",
             FormatDuration(now - next_poll_));
  standstill_ = {next_poll_, now};
}

void Absence::NoteAnswered() {
  MutexLock lock(mutex_);
  if (clock_.Now() - poll_began_ > lease_ / 2) NoteOutage();
}

void Absence::NotePolled(Duration next, bool away) {
  MutexLock lock(mutex_);
  if (away) NoteOutage();
  next_poll_ = clock_.Now() + next;
}

void Absence::NoteOutage() {
  if (!had_outage_ || poll_began_ - outage_.end > lease_) outage_.begin = poll_began_;
  outage_.end = clock_.Now();
  had_outage_ = true;
}

MonotonicTime Absence::Last(MonotonicTime now) const {
  MutexLock lock(mutex_);
  return std::max(Standstill(now).end, outage_.end);
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
  const auto excuses = [&](const Span& span) {
    // Agents report at least twice a lease. What they said before they left is read behind the end.
    return span.length() > lease_ / 2 && last_heard >= span.begin - lease_ / 2 &&
           last_heard < span.end + lease_ / 2;
  };
  return excuses(Standstill(clock_.Now())) || excuses(outage_);
}

}  // namespace assay::coordinator
