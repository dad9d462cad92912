// Decides when the silence of agents is meaningless, because this process could not listen.
#pragma once

#include "common/clock.h"
#include "common/mutex.h"

namespace assay::coordinator {

// A period in which the coordinator does not treat silent agents as lost, because this process
// itself may be the reason for their silence. A period begins when the process starts, after the
// database has failed to answer, and after the process was suspended (by SIGSTOP or a paused host).
// A poll that begins late indicates a suspension. Agents may need up to a minute to reconnect.
// Thread-safe.
class GracePeriod {
 public:
  // Begins a period of one lease, because the process has just started.
  GracePeriod(const Clock& clock, Duration lease);

  // Begins a period of one lease, in which agents come from another coordinator to this one. Agents
  // that hold a job reconnect within a third of a lease.
  void Begin();

  // Call at the start of a poll.
  void BeginPoll();
  // Call this at the end of a poll. The next poll is due after `next`. `database_away` says that
  // the database did not answer during this poll.
  void EndPoll(Duration next, bool database_away);

  // Returns true while agents may be silent because of this process.
  bool Active() const;

 private:
  bool IsLate(MonotonicTime now) const ASSAY_REQUIRES(mutex_) {
    return now - next_poll_ > lease_ / 2;
  }

  const Clock& clock_;
  const Duration lease_;
  mutable Mutex mutex_;
  MonotonicTime end_ ASSAY_GUARDED_BY(mutex_);
  MonotonicTime poll_began_ ASSAY_GUARDED_BY(mutex_);
  MonotonicTime next_poll_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace assay::coordinator
