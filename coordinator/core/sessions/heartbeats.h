// Agents' States, compared with what should be so. States that arrive while one batch
// is at the database make the next batch, so that load sets the batch size and a lone
// State waits for nothing.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "assay/v1/session.pb.h"
#include "coordinator/core/attempts/attempts.h"
#include "coordinator/core/environment.h"
#include "coordinator/core/attempts/outage.h"
#include "coordinator/core/attempts/running_jobs.h"
#include "coordinator/core/sessions/sessions.h"

namespace assay::coordinator {

// For each State, the agent is answered with
//   LeaseRenewal  for the jobs that it runs under the epoch that holds,
//   CancelJob     for those that have moved on or are to be cancelled,
//   Assign        for those that it should run and does not: the Assign was lost.
// A job that an agent lost by restarting, or that its gang began without it, has
// failed (NODE, AGENT_LOST). Jobs that run under a coordinator that is gone are adopted
// by being renewed. Thread-safe; made by std::make_shared.
class Heartbeats : public std::enable_shared_from_this<Heartbeats> {
 public:
  Heartbeats(const Environment& environment, const Options& options, RunningJobs& running,
             const Sessions& sessions, Attempts& attempts, Outage& outage);

  // Returns at once; the answer goes out when the database has spoken.
  void Submit(const std::string& node_id, const v1::AgentState& state);

 private:
  struct Beat {
    std::string node_name;
    v1::AgentState state;
    std::vector<storage::JobEpoch> reported;
    std::vector<RunningJobs::Missing> missing;
  };
  using Batch = std::map<std::string, Beat>;  // By node.
  using Held = std::map<storage::JobEpoch, storage::LeasedJob>;

  void Flush(int attempt);
  Batch TakePending();
  void PutBack(Batch batch);
  Status Renew(const Batch& batch, Held& held);
  void Answer(const std::string& node_id, const Beat& beat, const Held& held);
  Status ResolveMissing(const std::string& node_id, const std::string& node_name,
                        const RunningJobs::Missing& missing, const Held& held);

  const Environment& environment_;
  const Options& options_;
  RunningJobs& running_;
  const Sessions& sessions_;
  Attempts& attempts_;
  Outage& outage_;

  Mutex mutex_;
  Batch pending_ ASSAY_GUARDED_BY(mutex_);  // The latest State of each node.
  bool flushing_ ASSAY_GUARDED_BY(mutex_) = false;
};

}  // namespace assay::coordinator
