// Decides when the silence of agents is meaningless, because this process could not listen.
#pragma once

#include "common/clock.h"
#include "common/mutex.h"

namespace assay::coordinator {

// A period during which the coordinator does not treat silent agents as lost, because it may have
// caused the silence itself. A period starts when this process starts, after the database has
// failed to respond, and after the process was suspended, for example by SIGSTOP. Suspension is
// detected by a poll that starts late. Thread-safe.
class GracePeriod {
 public:
  // Begins a period of one lease, because the process has just started.
  GracePeriod(const Clock& clock, Duration lease);

  // Starts a grace period as long as one lease (Options::lease), so that agents have time to switch
  // from another coordinator to this one. Agents with a job reconnect within a third of that time.
  void Begin();

  // Call this at the start of a poll.
  void BeginPoll();
  // Call this at the end of a poll. `next` is the time until the next poll starts. `database_away`
  // is true if the database did not respond during this poll.
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
