// The attempts that this coordinator leads: what each agent of a job has said so far,
// and what follows from it. Memory only; PostgreSQL decides who holds a lease, and what
// is lost here with the process comes back from the agents' States.
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
// A gang adopted after a restart of this process may be in either state: it is taken to
// be running unless its agents say GangReady, which they repeat until GangGo comes.
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
#include "coordinator/core/placement/gang_wait.h"
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

// Thread-safe; never blocks.
class RunningJobs {
 public:
  explicit RunningJobs(const Clock& clock) : clock_(clock) {}

  // Adds a job. `adopted` is false if this process has just claimed the job, and true if the agents
  // started it under an earlier coordinator process. If the attempt is already known, only updates
  // the copy of its database record.
  void Add(storage::LeasedJob job, bool adopted);

  // Returns nullopt if this process does not lead the job under this epoch.
  std::optional<storage::LeasedJob> Find(const storage::JobEpoch& job) const;

  void Remove(const storage::JobEpoch& job);
  // Removes all jobs, because another coordinator leads them now.
  void Clear();

  // Records that an Assign (the message that gives a job to an agent) was sent to this node.
  // `agent_instance_id` identifies the agent process. `name` is the node's name as users see it.
  void NoteAssigned(const storage::JobEpoch& job, const std::string& node_id,
                    const std::string& agent_instance_id, const std::string& name);

  // Returns the node's name, even after its agent has left, or its id if the name is unknown.
  std::string NameOf(const storage::JobEpoch& job, const std::string& node_id) const;

  // Records that the agent of `node_id` has listed these jobs in a State message, its heartbeat.
  // `name` is the node's name as users see it, or empty if the agent's session has ended since.
  void NoteReported(const std::string& node_id, const std::string& name,
                    const std::vector<storage::JobEpoch>& jobs);

  // Records that all ranks of this node are ready. Once every agent of the gang (the nodes of one
  // job) is ready, returns one GangGo message per agent, which tells it to start. Returns nothing
  // before that. If an agent repeats its GangReady afterwards, returns GangGo for this agent again.
  // GangGo contains a token of rank 0's current process, so a gang that was only partly started
  // when the coordinator restarted never starts as a whole.
  std::vector<Outbound> NoteReady(const std::string& node_id, const v1::GangReady& ready);

  // Records that an agent has finished its part of the job without failure. Returns true if the
  // agent runs rank 0. The attempt then ends, because that agent sends all results of the job.
  bool NoteFinished(const storage::JobEpoch& job, const std::string& node_id);

  void NoteOutcome(const v1::CaseResult& result);
  CaseOutcomes OutcomesOf(const storage::JobEpoch& job) const;

  // Records that an agent's part of the job has failed.
  void NoteFailure(const storage::JobEpoch& job, const std::string& node_id, v1::Failure failure);

  // The state of one node of a job, as far as this process knows.
  struct NodeStatus {
    std::string node_id;
    std::string name;                        // Its id if this process has not heard the name.
    std::optional<MonotonicTime> last_seen;  // When its agent spoke of the job last.
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

  // An attempt that a node should be running but did not list in its State.
  struct Missing {
    storage::JobEpoch job;
    // True if a new agent process has replaced the one that ran the job. In that case, the job's
    // processes no longer exist.
    bool agent_restarted = false;
    // True if the gang has started without this agent, which cannot join any more.
    bool gang_started = false;
    // True for an adopted job if the agent has never reported it to this process.
    bool unheard = false;
  };
  // Returns the jobs that the agent should have listed in its State message but did not. `reported`
  // contains the jobs that it listed. Skips jobs that were assigned less than `grace` ago, because
  // the Assign message may still be on its way.
  std::vector<Missing> MissingAt(const std::string& node_id, const std::string& agent_instance_id,
                                 const std::vector<storage::JobEpoch>& reported,
                                 Duration grace) const;

  // An attempt with a lost agent, and the node of that agent. An agent is lost if it has not
  // mentioned the job for `lease`. While a job on several nodes has not started yet, the shorter
  // time `absent` applies to agents without a session, because the other nodes are idle meanwhile.
  struct Lost {
    storage::LeasedJob job;
    std::string node_id;
    MonotonicTime last_seen;  // When it spoke of the job.
  };
  std::vector<Lost> LostSince(Duration lease, Duration absent,
                              const std::function<bool(const std::string&)>& in_session) const;
  // Returns true if at least one agent of the job has reported the job to this process and has not
  // finished it. LostSince will report this agent if it falls silent.
  bool AwaitsHeard(const storage::JobEpoch& job) const;

  // Returns the gangs that have waited longer than `prepare` for agents to be ready.
  std::vector<GangWait> UnpreparedSince(Duration prepare) const;
  // Returns the reasons for waiting if the job is a gang whose agents are not all ready.
  std::optional<GangWait> WaitOf(const storage::JobEpoch& job) const;

  // Returns the jobs that have run for `slack` more than their timeout.
  std::vector<storage::LeasedJob> OverdueSince(Duration slack) const;

 private:
  struct Member {
    bool finished = false;  // Well or not.
    std::optional<v1::Failure> failure;
    bool reported = false;
    std::optional<MonotonicTime> ready;
    std::string agent_instance_id;  // Empty until known.
    std::string name;               // As well.
    MonotonicTime assigned;
    // When the agent last mentioned the job. Not set if this process adopted the job and the agent
    // has not reported to it yet, perhaps because its session is with another coordinator.
    std::optional<MonotonicTime> last_seen;
  };
  // The stage of a job on several nodes; kStarted for all other jobs.
  enum class Stage { kPreparing, kAdopted, kStarted };
  struct Entry {
    storage::LeasedJob job;
    MonotonicTime start;
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

  const Clock& clock_;
  mutable Mutex mutex_;
  std::map<std::string, Entry> entries_ ASSAY_GUARDED_BY(mutex_);  // By job id.
};

}  // namespace assay::coordinator
