// One attempt of a job from its claim to its end: Assign to every agent of the
// placement, the gang's start, and what becomes of the job when it is over.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "assay/v1/session.pb.h"
#include "coordinator/core/attempts/absence.h"
#include "coordinator/core/environment.h"
#include "coordinator/core/attempts/running_jobs.h"
#include "coordinator/core/sessions/sessions.h"

namespace assay::coordinator {

// Thread-safe. Calls that return a Status block on the database; UNAVAILABLE means:
// nothing was decided, call again.
//
// An attempt is over when the agent of rank 0 finished (every result is its own, and
// was stored before it said so), when any agent failed or was lost, or when a gang was not
// ready in time. The other agents
// then get CancelJob, which stands before any later Assign on their streams; so a node
// that is free in the database first stops what it still runs.
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
           const Sessions& sessions, const Absence& absence, OnEnded on_ended);

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
  // Ends the attempt with a failure that the coordinator found. If nodes are at fault, the failure
  // names the first.
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
  Status Conclude(const storage::LeasedJob& job, const std::string& reporter);
  Status End(const storage::LeasedJob& job, storage::FinishedAttempt attempt,
             const std::string& reporter);
  // `at_fault` as of Fail.
  Status FailFrom(const storage::LeasedJob& job, v1::Failure failure, const std::string& reporter,
                  std::vector<std::string> at_fault = {});
  std::optional<v1::Failure> WhyMixed(const storage::LeasedJob& job) const;
  Result<v1::Failure> BlameAbsent(const storage::LeasedJob& job, v1::Failure failure) const;
  v1::Failure BlameLate(const storage::LeasedJob& job, v1::Failure failure,
                        std::vector<std::string>* at_fault) const;
  v1::Failure SpareIfAway(const storage::LeasedJob& job, const std::string& reporter,
                          v1::Failure failure) const;
  std::string NameOf(const std::string& node_id) const;
  Result<CaseOutcomes> LoadOutcomes(const storage::LeasedJob& job);
  void SendCancel(const std::string& node_id, const storage::JobEpoch& job,
                  const std::string& reason);

  const Environment& environment_;
  const Options& options_;
  RunningJobs& running_;
  const Sessions& sessions_;
  const Absence& absence_;
  const OnEnded on_ended_;
};

}  // namespace assay::coordinator
