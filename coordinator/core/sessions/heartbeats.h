// Compares the jobs that agents list in their State messages (heartbeats) with the jobs they should
// be running. Handles States in batches: while the database processes one batch, newly arrived
// States form the next. Batches therefore grow with the load, but a single State is handled
// immediately.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "assay/v1/session.pb.h"
#include "coordinator/core/attempts/attempts.h"
#include "coordinator/core/attempts/outage.h"
#include "coordinator/core/attempts/running_jobs.h"
#include "coordinator/core/environment.h"
#include "coordinator/core/sessions/sessions.h"

namespace assay::coordinator {

// Answers each State message, in which an agent lists the jobs it is running, with
//   LeaseRenewal  for jobs that the agent may continue to run,
//   CancelJob     for jobs that were cancelled or are now run by another attempt,
//   Assign        for jobs that the agent should run but never received.
// Also takes over (adopts) jobs whose coordinator has exited. Fails a job if the agent lost it by
// restarting, or if the job's other agents started without this agent. Thread-safe. Must be created
// with std::make_shared.
class Heartbeats : public std::enable_shared_from_this<Heartbeats> {
 public:
  Heartbeats(const Environment& environment, const Options& options, RunningJobs& running,
             Sessions& sessions, Attempts& attempts, Outage& outage);

  // Handles a State message (the heartbeat of an agent) without blocking. The answer is sent after
  // the database has replied. A State without news is not answered if it arrives within a quarter
  // of a heartbeat period after another. Agents send many such States, one for every job assigned
  // to them.
  void Submit(const std::string& node_id, const v1::AgentState& state);

 private:
  struct Beat {
    std::string node_name;
    uint64_t sequence = 0;  // Of the State.
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
  Sessions& sessions_;
  Attempts& attempts_;
  Outage& outage_;

  Mutex mutex_;
  Batch pending_ ASSAY_GUARDED_BY(mutex_);  // The latest State of each node.
  // The time at which a State of each node was last queued for the database.
  std::map<std::string, MonotonicTime> taken_ ASSAY_GUARDED_BY(mutex_);
  bool flushing_ ASSAY_GUARDED_BY(mutex_) = false;
};

}  // namespace assay::coordinator
