// Tracks the attempts that this coordinator leads: what the agents of each job have reported, and
// what follows from their reports. Kept in memory only. After a restart, the agents' State messages
// restore the information. Who holds a lease is decided by PostgreSQL, not here.
//
//            Add
//             |          all agents GangReady
//   +---------v--------+ ------------------> +-----------+
//   |    preparing     |                     |  running  |   (jobs on one node begin
//   +------------------+                     +-----------+    as running)
//             |                                    |
//             |  any agent failed or lost, rank 0's agent finished, or the agents
//             |  were not ready in time
//             +----------------> Remove <----------+
//
// After a restart of this process, an adopted gang (a job on several nodes) may be in either state.
// It counts as running unless its agents send GangReady, which they repeat until they get GangGo.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "assay/v1/session.pb.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "coordinator/core/attempts/gang_wait.h"
#include "storage/types.h"

namespace assay::coordinator {

// A message for the agent of one node.
struct Outbound {
  std::string node_id;
  v1::CoordinatorMessage message;
};

// The outcomes of an attempt's cases that this process has seen.
struct CaseOutcomes {
  std::map<int, v1::CaseOutcome> by_index;
  // The failure of the first case that failed.
  std::optional<v1::Failure> first_failure;
};

// The attempts to run jobs that are led by this coordinator, with their agents' reports.
// Thread-safe. Never blocks.
class RunningJobs {
 public:
  explicit RunningJobs(const Clock& clock) : clock_(clock) {}

  // Adds a job. `adopted` is false if this process has just claimed the job, and true if an earlier
  // coordinator process assigned it to its agents. If this attempt to run the job is already known,
  // only updates the copy of the job's database record.
  void Add(storage::LeasedJob job, bool adopted);

  // Returns nullopt if this process does not lead the job under this epoch.
  std::optional<storage::LeasedJob> Find(const storage::JobEpoch& job) const;

  void Remove(const storage::JobEpoch& job);
  // Removes all jobs, because another coordinator leads them now.
  void Clear();

  // Records that an Assign message, which gives the job to an agent, was sent to this node.
  // `agent_instance_id` identifies the agent process. `name` is the node's name as shown to users.
  void NoteAssigned(const storage::JobEpoch& job, const std::string& node_id,
                    const std::string& agent_instance_id, const std::string& name);

  // Returns the node's name, even after its agent has left, or its id if the name is unknown.
  std::string NameOf(const storage::JobEpoch& job, const std::string& node_id) const;

  // Records that the agent of `node_id` has listed these jobs in a State message (its heartbeat).
  // `name` is the node's name as shown to users. It is empty if the agent's session has been closed
  // in the meantime.
  void NoteReported(const std::string& node_id, const std::string& name,
                    const std::vector<storage::JobEpoch>& jobs);

  // Records the phases that the agent of `node_id` has listed in a State message.
  void NotePhases(const std::string& node_id, const v1::AgentState& state);
  // Returns the latest phase of the job on its first node. Empty if it is not known.
  std::string PhaseOf(const storage::JobEpoch& job) const;

  // Records that all ranks (processes) of a job on this node are ready. Once all nodes of the job
  // are ready, returns the GangGo messages that tell the agents to start. Before that, returns
  // nothing. If an agent later repeats its GangReady message, returns its GangGo message again.
  std::vector<Outbound> NoteReady(const std::string& node_id, const v1::GangReady& ready);

  // Records that an agent has successfully finished its part of the job. Returns true if this is
  // the agent of rank 0, which sends all results of the job. In that case, the attempt is over.
  bool NoteFinished(const storage::JobEpoch& job, const std::string& node_id);

  void NoteOutcome(const v1::CaseResult& result);
  CaseOutcomes OutcomesOf(const storage::JobEpoch& job) const;

  // Records that an agent's part of the job has failed.
  void NoteFailure(const storage::JobEpoch& job, const std::string& node_id, v1::Failure failure);

  // The state of one node of a job, as far as this process knows.
  struct NodeStatus {
    std::string node_id;
    std::string name;                        // Its id if this process has not heard the name.
    std::optional<MonotonicTime> last_seen;  // When its agent last mentioned the job.
    std::optional<v1::Failure> failure;      // As noted by NoteFailure.
    bool finished = false;                   // As noted by NoteFinished.
  };
  // Returns the nodes of the job in rank order.
  std::vector<NodeStatus> NodesOf(const storage::JobEpoch& job) const;

  // Returns the nodes whose agents have finished their part, with or without success.
  std::set<std::string> FinishedNodes(const storage::JobEpoch& job) const;

  // Returns jobs with a failure that was recorded more than `age` ago.
  std::vector<storage::LeasedJob> FailedBefore(Duration age) const;

  // Returns when the attempt began in this process.
  std::optional<MonotonicTime> StartOf(const storage::JobEpoch& job) const;

  // Returns true if this process leads all these jobs, and each of their leases was granted or
  // renewed less than `age` ago.
  bool AllRenewedWithin(Duration age, const std::vector<storage::JobEpoch>& jobs) const;

  // An attempt that a node should be running but did not list in its State.
  struct Missing {
    storage::JobEpoch job;
    // True if the agent has restarted since it got the job. The job's processes have then ended.
    bool agent_restarted = false;
    // True if the gang has started without this agent, which then cannot join it.
    bool gang_started = false;
    // True for an adopted job if the agent has never reported it to this process.
    bool unheard = false;
  };
  // Returns the jobs that the agent should have listed in its State message (its heartbeat) but did
  // not. `reported` contains the jobs that it did list. Skips jobs assigned less than `grace` ago,
  // because the Assign message may still be on its way.
  std::vector<Missing> MissingAt(const std::string& node_id, const std::string& agent_instance_id,
                                 const std::vector<storage::JobEpoch>& reported,
                                 Duration grace) const;

  // An attempt that has lost an agent. Normally, an agent is lost if it has not mentioned the job
  // for longer than `lease`. A shorter time, `absent`, applies to an agent without a session if the
  // job is on several nodes and has not started, because the other nodes sit idle until then.
  struct Lost {
    storage::LeasedJob job;
    std::string node_id;
    MonotonicTime last_seen;  // When its agent last mentioned the job.
  };
  std::vector<Lost> LostSince(Duration lease, Duration absent,
                              const std::function<bool(const std::string&)>& in_session) const;
  // Returns true if this process has heard about the job from an agent that has not finished its
  // part. If that agent falls silent, LostSince will return the job.
  bool AwaitsHeard(const storage::JobEpoch& job) const;

  // Returns the gangs that have waited longer than `prepare` for agents to be ready.
  std::vector<GangWait> UnpreparedSince(Duration prepare) const;
  // Returns the reasons for waiting if the job is a gang whose agents are not all ready.
  std::optional<GangWait> WaitOf(const storage::JobEpoch& job) const;

  // Returns the jobs that have run for longer than their timeout plus `slack`.
  std::vector<storage::LeasedJob> OverdueSince(Duration slack) const;

 private:
  struct Member {
    bool finished = false;  // With or without success.
    std::optional<v1::Failure> failure;
    bool reported = false;
    std::optional<MonotonicTime> ready;
    std::string agent_instance_id;  // Empty until known.
    std::string name;               // Empty until known.
    std::string phase;              // See RunningJob.phase. Empty until known.
    MonotonicTime assigned;
    // Time at which the agent last mentioned the job. Absent if this process has taken over the job
    // and the agent has not mentioned it since, for example because its session is with another
    // coordinator.
    std::optional<MonotonicTime> last_seen;
  };
  // The stage of a job. A job on a single node is always in kStarted. A job on several nodes is in
  // kPreparing until all its agents are ready. If an earlier coordinator process assigned it, it is
  // in kAdopted, because this process does not know whether the job has started.
  enum class Stage { kPreparing, kAdopted, kStarted };
  struct Entry {
    storage::LeasedJob job;
    MonotonicTime start;
    MonotonicTime renewed;  // When the lease began, or was renewed last.
    bool adopted = false;
    Stage stage = Stage::kStarted;
    // The time since which its agents are known to wait for the start.
    std::optional<MonotonicTime> preparing_since;
    std::map<std::string, Member> members;  // By node.
    std::string rendezvous_token;
    CaseOutcomes outcomes;
    std::optional<MonotonicTime> first_failure;  // When the first one was noted.
  };

  Entry* FindEntry(const storage::JobEpoch& job) ASSAY_REQUIRES(mutex_);
  const Entry* FindEntry(const storage::JobEpoch& job) const ASSAY_REQUIRES(mutex_);
  // Returns nullopt if the gang has started or is not known to wait.
  std::optional<GangWait> WaitOfEntry(const Entry& entry) const ASSAY_REQUIRES(mutex_);

  using Entries = std::map<std::string, Entry>;  // By job id.
  void Erase(Entries::iterator entry) ASSAY_REQUIRES(mutex_);

  const Clock& clock_;
  mutable Mutex mutex_;
  Entries entries_ ASSAY_GUARDED_BY(mutex_);
  // The ids of the jobs in `entries_` by node. With this index, the cost of handling a node's
  // heartbeat depends only on the number of jobs on that node.
  std::map<std::string, std::set<std::string>> jobs_of_node_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace assay::coordinator
