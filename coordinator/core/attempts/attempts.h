// Manages attempts, which are single runs of jobs. Sends a job to the agents of its nodes, starts
// all these nodes together, and decides what happens to the job when the attempt ends.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "assay/v1/session.pb.h"
#include "coordinator/core/attempts/grace_period.h"
#include "coordinator/core/attempts/running_jobs.h"
#include "coordinator/core/environment.h"
#include "coordinator/core/leadership.h"
#include "coordinator/core/sessions/sessions.h"

namespace assay::coordinator {

// Time for which the coordinator, after the first report of a failure, waits for reports from the
// job's other agents. These may arrive seconds later, because ranks may notice a silent rank up to
// two seconds apart, and an agent reports a failure only after its processes have exited.
inline constexpr Duration kReportsWait = std::chrono::seconds(5);

// Starts attempts to run jobs and decides how they end. An attempt normally ends when the agent of
// rank 0 (the job's first process) has finished. It fails when the cause of a failure is known,
// when an agent is lost, or when a job on several nodes does not start in time. After it ends, the
// job's other agents are told to cancel the job before they are sent another.
//
// Thread-safe. Methods that return a Status block on the database. A method that returns
// UNAVAILABLE has decided nothing and may be called again.
class Attempts {
 public:
  struct Ended {
    storage::FinishOutcome outcome;
    bool requeued = false;
    Duration delay{0};
  };
  // Called after the end of each attempt, on the thread that ended the attempt.
  using OnEnded = std::function<void(const Ended&)>;

  Attempts(const Environment& environment, const Options& options, RunningJobs& running,
           const Sessions& sessions, const GracePeriod& grace, const Leadership& leadership,
           OnEnded on_ended);

  // Sends a newly claimed job to the agents of its nodes. If the nodes or GPUs are incompatible,
  // fails the job with one of these reasons:
  // - NO_SHARED_NETWORK if two nodes cannot reach each other;
  // - VERSION_MISMATCH if the nodes of a GPU job have different driver or NCCL versions;
  // - MIXED_GPUS if the job's GPUs are of different models and the job does not allow that.
  Status Begin(const storage::LeasedJob& job);
  // Sends the job again to an agent that did not receive its Assign, under the same epoch.
  void AssignTo(const storage::LeasedJob& job, const std::string& node_id);

  // Handles an agent's report that all its ranks are ready.
  Status Ready(const std::string& node_id, const v1::GangReady& ready);
  // Handles an agent's report that its part of the job has ended. Ignores reports of old epochs.
  Status Finished(const std::string& node_id, const v1::JobFinished& finished);
  // Ends attempts in which an agent reported a failure more than kReportsWait ago, without waiting
  // any longer for the other agents' reports.
  Status DecideOverdue();
  // Ends the attempt with a failure detected by the coordinator itself. `at_fault` lists the ids of
  // the nodes at fault, the first of which is named in the stored failure.
  Status Fail(const storage::LeasedJob& job, v1::Failure failure,
              std::vector<std::string> at_fault = {});

  // Ends a job whose last attempt is over, if its remaining results have arrived late.
  Status Mend(const storage::LeasedJob& job);

  // Returns true if the agent has a session with another coordinator, which receives its reports.
  Result<bool> IsElsewhere(const std::string& node_id) const;

  // Tells the agents of these jobs to stop. Their JobFinished messages then end the attempts.
  void Cancel(const std::vector<storage::JobEpoch>& jobs);

  // Returns the job if the attempt `job` is still current and this coordinator leads it. If another
  // coordinator led the attempt, but the job runs on `node_id`, takes the attempt over (adopts it)
  // and returns the job as well. Otherwise, returns nullopt.
  Result<std::optional<storage::LeasedJob>> FindOrAdopt(const storage::JobEpoch& job,
                                                        const std::string& node_id);

 private:
  Status Conclude(const storage::LeasedJob& job);
  // Returns true if it has ended the attempt.
  Result<bool> EndIfCauseIsKnown(const storage::LeasedJob& job, bool last_call);
  static storage::FinishedAttempt AttemptOf(const storage::LeasedJob& job,
                                            const CaseOutcomes& outcomes);
  Status End(const storage::LeasedJob& job, storage::FinishedAttempt attempt);
  std::optional<v1::Failure> WhyMixed(const storage::LeasedJob& job) const;
  void SendFinishedAck(const std::string& node_id, const storage::JobEpoch& job);
  std::string NameOf(const std::string& node_id) const;
  Result<CaseOutcomes> LoadOutcomes(const storage::LeasedJob& job);
  void SendCancel(const std::string& node_id, const storage::JobEpoch& job,
                  const std::string& reason);

  const Environment& environment_;
  const Options& options_;
  RunningJobs& running_;
  const Sessions& sessions_;
  const GracePeriod& grace_;
  const Leadership& leadership_;
  const OnEnded on_ended_;
};

}  // namespace assay::coordinator
