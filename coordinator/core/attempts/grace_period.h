// When the silence of agents means nothing, because this process did not listen.
#pragma once

#include "common/clock.h"
#include "common/mutex.h"

namespace assay::coordinator {

// After its start and after every absence this process gives agents time to come back, and
// concludes nothing from their silence. It is absent while its database does not answer, and while
// it is suspended (SIGSTOP, a paused host): its polls then begin late. Agents lose their sessions
// meanwhile, and reconnect within a minute. Thread-safe.
class GracePeriod {
 public:
  // Begins with a start, after which agents have one lease.
  GracePeriod(const Clock& clock, Duration lease);

  // A poll begins.
  void BeginPoll();
  // The poll has ended, and the next one is due after `next`. `database_away`: the database did
  // not answer it.
  void EndPoll(Duration next, bool database_away);

  // True while agents may be silent because of this process.
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
