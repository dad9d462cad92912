// When work is handed out, found lost, and judged. Events wake it: a campaign
// submitted, a node attached, a job finished, a notification of the database. A slow
// poll repairs what a lost event missed.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "coordinator/core/attempts/attempts.h"
#include "coordinator/core/attempts/grace_period.h"
#include "coordinator/core/attempts/outage.h"
#include "coordinator/core/attempts/running_jobs.h"
#include "coordinator/core/environment.h"
#include "coordinator/core/sessions/sessions.h"
#include "coordinator/core/watchers.h"

namespace assay::coordinator {

// Thread-safe; made by std::make_shared. While the database is away everything waits
// for the poll.
class Scheduler : public std::enable_shared_from_this<Scheduler> {
 public:
  Scheduler(const Environment& environment, const Options& options, RunningJobs& running,
            const Sessions& sessions, Attempts& attempts, Watchers& watchers, Outage& outage,
            GracePeriod& grace);

  // Begins the poll, which goes on until Stop.
  void Start();
  // No further claims; what was posted before returns without doing anything.
  void Stop() { stopped_ = true; }

  // Claims what can run now and assigns it, soon. Any number of calls make one pass.
  void Kick();
  // An attempt has ended: what it held is free, and its campaign may be over.
  void OnAttemptEnded(const Attempts::Ended& ended);
  // Judges the campaign, soon, if all its jobs have ended.
  void JudgeSoon(const std::string& campaign_id);

 private:
  void Claim();
  Status ClaimOnce(bool& more);
  void Poll();
  // Fails attempts whose agent or coordinator is gone.
  Status Sweep();
  Status SweepLost();
  Status SweepUnprepared();
  Status SweepExpired();
  Status JudgeAll();
  Status JudgeOne(const std::string& campaign_id);

  const Environment& environment_;
  const Options& options_;
  RunningJobs& running_;
  const Sessions& sessions_;
  Attempts& attempts_;
  Watchers& watchers_;
  Outage& outage_;
  GracePeriod& grace_;

  std::atomic<bool> stopped_{false};
  Mutex mutex_;
  bool claiming_ ASSAY_GUARDED_BY(mutex_) = false;
  bool claim_again_ ASSAY_GUARDED_BY(mutex_) = false;
};

}  // namespace assay::coordinator
