// One attempt of a job from its claim to its end: Assign to every agent of the placement, the
// gang's start, and the decision about the job after the end.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "assay/v1/session.pb.h"
#include "coordinator/core/attempts/grace_period.h"
#include "coordinator/core/attempts/running_jobs.h"
#include "coordinator/core/environment.h"
#include "coordinator/core/sessions/sessions.h"

namespace assay::coordinator {

// How long the agents of a gang have to report after the first. A rank notices the silence of
// another up to two seconds after the first, and its agent reports when its processes have ended.
inline constexpr Duration kReportsWait = std::chrono::seconds(5);

// Thread-safe. Calls that return a Status block on the database; UNAVAILABLE means:
// nothing was decided, call again.
//
// An attempt is over when the agent of rank 0 has finished (all results come from rank 0, and were
// stored before), when the cause of a failure is known, when an agent is lost, or when a gang was
// not ready in time. The agents that have not finished then get CancelJob, which precedes any
// later Assign on their streams. So a node that is free in the database first stops what it still
// runs.
//
// An agent that reports a failure is acknowledged when the attempt is over. If the report does not
// show the cause, the other agents have kReportsWait to report as well; DecideBlame then decides.
class Attempts {
 public:
  struct Ended {
    storage::FinishOutcome outcome;
    bool requeued = false;
    Duration delay{0};
  };
  // Called after each attempt's end, on the caller's thread.
  using OnEnded = std::function<void(const Ended&)>;

  Attempts(const Environment& environment, const Options& options, RunningJobs& running,
           const Sessions& sessions, const GracePeriod& grace, OnEnded on_ended);

  // Sends a freshly claimed job to its agents; a gang of GPUs whose nodes have different
  // drivers or NCCL versions (USER, VERSION_MISMATCH), or several models of GPU that the job
  // does not allow (USER, MIXED_GPUS), fails instead.
  Status Begin(const storage::LeasedJob& job);
  // Sends it to one of them again, under the same epoch: its Assign was lost.
  void AssignTo(const storage::LeasedJob& job, const std::string& node_id);

  // All ranks of this node are ready.
  Status Ready(const std::string& node_id, const v1::GangReady& ready);
  // The agent's part is over, well or not. Old epochs change nothing.
  Status Finished(const std::string& node_id, const v1::JobFinished& finished);
  // Decides attempts whose other agents have not reported within kReportsWait.
  Status DecideOverdue();
  // Ends the attempt with a failure that the coordinator found. `at_fault` are nodes at fault; the
  // failure names the first.
  Status Fail(const storage::LeasedJob& job, v1::Failure failure,
              std::vector<std::string> at_fault = {});

  // True if the agent is in session with another coordinator, which then hears of its jobs.
  Result<bool> IsElsewhere(const std::string& node_id) const;

  // Tells the agents of these jobs to stop; their JobFinished ends the attempts.
  void Cancel(const std::vector<storage::JobEpoch>& jobs);

  // The job if it is held under this epoch, by this coordinator from now on; nullopt if
  // it has moved on.
  Result<std::optional<storage::LeasedJob>> FindOrAdopt(const storage::JobEpoch& job);

 private:
  Status Conclude(const storage::LeasedJob& job);
  // True if the attempt is over.
  Result<bool> EndIfCauseIsKnown(const storage::LeasedJob& job, bool last_call);
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
  const OnEnded on_ended_;
};

}  // namespace assay::coordinator
