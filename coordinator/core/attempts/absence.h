// Whether this process heard the agents all the time, so that silence is theirs.
#pragma once

#include "common/clock.h"
#include "common/mutex.h"

namespace assay::coordinator {

// Tracks when this process could not hear its agents: before its start, while its database was
// unreachable, and while it was suspended. Messages of that time have not been read, and no lease
// was renewed. While the coordinator is down or suspended, agents close their sessions; they
// reconnect within a minute. Thread-safe.
class Absence {
 public:
  // Begins with a start.
  Absence(const Clock& clock, Duration lease);

  // A poll begins: one that comes late tells of a standstill.
  void NotePoll();
  // The database has answered it: where that took long it was away. Not called, only `away` tells.
  void NoteAnswered();
  // It has ended, and the next one is due after `next`. `away`: it did not reach the database.
  void NotePolled(Duration next, bool away);

  // False for a lease from the last absence on: that nothing is heard of an agent may be this
  // process' own fault.
  bool SilenceCounts() const;
  // True for two leases from it on: by then whoever gave up for it has said so, or its job was
  // taken away.
  bool Recent() const;
  // True for an agent that was heard until an absence that cost agents their leases, other than
  // before the start, and for no longer than half a lease since: if it has left, it may have done
  // so for that.
  bool Excuses(MonotonicTime last_heard) const;

 private:
  struct Span {
    MonotonicTime begin;
    MonotonicTime end;
    Duration length() const { return end - begin; }
  };
  static Span NoneAt(MonotonicTime now) { return {now, now}; }
  bool StandsStill(MonotonicTime now) const ASSAY_REQUIRES(mutex_) {
    return now - next_poll_ > lease_ / 2;
  }
  // The last one; until now if the late poll has yet to come.
  Span Standstill(MonotonicTime now) const ASSAY_REQUIRES(mutex_) {
    return StandsStill(now) ? Span{next_poll_, now} : standstill_;
  }
  // From the begin of this poll until now.
  void NoteOutage() ASSAY_REQUIRES(mutex_);
  // When the last absence ended.
  MonotonicTime Last(MonotonicTime now) const;

  const Clock& clock_;
  const Duration lease_;
  mutable Mutex mutex_;
  Span standstill_ ASSAY_GUARDED_BY(mutex_);
  // The last one of the database; those within a lease of each other are one.
  Span outage_ ASSAY_GUARDED_BY(mutex_);
  bool had_outage_ ASSAY_GUARDED_BY(mutex_) = false;  // Else outage_ is the start.
  MonotonicTime poll_began_ ASSAY_GUARDED_BY(mutex_);
  MonotonicTime next_poll_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace assay::coordinator
