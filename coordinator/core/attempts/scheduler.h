// Assigns queued jobs to nodes, detects lost attempts, and decides the verdicts of campaigns.
// Reacts when a campaign is submitted, a node connects, a job ends, or the database sends a
// notification. Also polls the database at longer intervals in case a notification was lost.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "coordinator/core/attempts/attempts.h"
#include "coordinator/core/attempts/grace_period.h"
#include "coordinator/core/attempts/outage.h"
#include "coordinator/core/attempts/running_jobs.h"
#include "coordinator/core/environment.h"
#include "coordinator/core/leadership.h"
#include "coordinator/core/sessions/quarantine.h"
#include "coordinator/core/sessions/sessions.h"
#include "coordinator/core/watchers.h"

namespace assay::coordinator {

// Assigns jobs to nodes and detects lost attempts while this coordinator is the elected leader.
// Every poll by the leader also calls `run_schedules`. If the database does not respond, all work
// waits for the next poll. Thread-safe. Must be created with std::make_shared.
class Scheduler : public std::enable_shared_from_this<Scheduler> {
 public:
  Scheduler(const Environment& environment, const Options& options, Leadership& leadership,
            RunningJobs& running, Sessions& sessions, Quarantine& quarantine, Attempts& attempts,
            Watchers& watchers, Outage& outage, GracePeriod& grace,
            std::function<Status()> run_schedules);

  // Stands for election, and starts the poll, which repeats until Stop. Blocks on the database.
  void Start();
  // Stops claiming jobs. Tasks that are queued on the executor will do nothing.
  void Stop() { stopped_ = true; }

  // Starts a task on the executor that claims all jobs that can run now and assigns them to nodes.
  // Several calls may share one task.
  void Kick();
  // Handles the end of an attempt: its nodes are free again, and its campaign may have ended.
  void OnAttemptEnded(const Attempts::Ended& ended);
  // Decides the campaign's verdict, on the executor, if all its jobs have ended.
  void JudgeSoon(const std::string& campaign_id);
  // Gives the sessions the labels and prices that operators have set. Blocks on the database.
  Status RefreshSettings();

 private:
  void Claim();
  Status ClaimOnce(bool& more);
  void Poll();
  // Takes part in the election, and acts on its outcome.
  Status Elect();
  // Ends attempts that are lost, overdue or not ready in time, or whose nodes are drained.
  Status Sweep();
  Status SweepLost();
  Status SweepUnprepared();
  Status SweepExpired();
  Status SweepOverdue();
  Status SweepDrained();
  Status JudgeAll();
  Status JudgeOne(const std::string& campaign_id);
  // Counts the campaign's jobs that belong to `repetition` or to a later one.
  Result<v1::JobCounts> CountJobsFrom(int repetition, const std::string& campaign_id);

  const Environment& environment_;
  const Options& options_;
  Leadership& leadership_;
  RunningJobs& running_;
  Sessions& sessions_;
  Quarantine& quarantine_;
  Attempts& attempts_;
  Watchers& watchers_;
  Outage& outage_;
  GracePeriod& grace_;
  const std::function<Status()> run_schedules_;

  std::atomic<bool> stopped_{false};
  Mutex mutex_;
  bool claiming_ ASSAY_GUARDED_BY(mutex_) = false;
  bool claim_again_ ASSAY_GUARDED_BY(mutex_) = false;
};

}  // namespace assay::coordinator
