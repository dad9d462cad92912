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

// How the cases of an attempt went, as far as this process saw.
struct CaseOutcomes {
  std::map<int, v1::CaseOutcome> by_index;
  // The failure of the first case that failed.
  std::optional<v1::Failure> first_failure;
};

// Thread-safe; never blocks.
class RunningJobs {
 public:
  explicit RunningJobs(const Clock& clock) : clock_(clock) {}

  // A job claimed now, or adopted: found running at its agents after a restart. An
  // epoch already known only has its leased record refreshed.
  void Add(storage::LeasedJob job, bool adopted);

  // nullopt if the job is not led under this epoch.
  std::optional<storage::LeasedJob> Find(const storage::JobEpoch& job) const;

  void Remove(const storage::JobEpoch& job);

  // Notes that an Assign went to the agent process `agent_instance_id` on this node, which
  // people call `name`.
  void NoteAssigned(const storage::JobEpoch& job, const std::string& node_id,
                    const std::string& agent_instance_id, const std::string& name);

  // The node's name, also when it has left; its id if this process has not heard the name.
  std::string NameOf(const storage::JobEpoch& job, const std::string& node_id) const;

  // A State from `node_id` that lists these jobs. `name` as in NoteAssigned; empty if the agent
  // has left meanwhile.
  void NoteReported(const std::string& node_id, const std::string& name,
                    const std::vector<storage::JobEpoch>& jobs);

  // A GangReady: the answer is empty until every agent of the gang is ready, then a
  // GangGo to each; later repetitions get the GangGo again. GangGo has the token of rank
  // 0's agent, so an adopted gang that had begun in part never begins as a whole.
  std::vector<Outbound> NoteReady(const std::string& node_id, const v1::GangReady& ready);

  // An agent finished without failure. True if that ends the attempt: it runs rank 0,
  // whose results are the job's.
  bool NoteFinished(const storage::JobEpoch& job, const std::string& node_id);

  void NoteOutcome(const v1::CaseResult& result);
  CaseOutcomes OutcomesOf(const storage::JobEpoch& job) const;

  // An agent's part of the job failed.
  void NoteFailure(const storage::JobEpoch& job, const std::string& node_id, v1::Failure failure);

  // A node of a job, as far as this process knows.
  struct NodeStatus {
    std::string node_id;
    std::string name;                        // Its id if this process has not heard the name.
    std::optional<MonotonicTime> last_seen;  // When its agent spoke of the job last.
    std::optional<v1::Failure> failure;      // As noted by NoteFailure.
    bool finished = false;                   // As noted by NoteFinished.
  };
  // In rank order.
  std::vector<NodeStatus> NodesOf(const storage::JobEpoch& job) const;

  // The nodes whose agents have finished their part, well or not.
  std::set<std::string> FinishedNodes(const storage::JobEpoch& job) const;

  // Jobs with a failure that was noted more than `age` ago.
  std::vector<storage::LeasedJob> FailedBefore(Duration age) const;

  // When the attempt began here.
  std::optional<MonotonicTime> StartOf(const storage::JobEpoch& job) const;

  // An attempt that a node should be running but did not list in its State.
  struct Missing {
    storage::JobEpoch job;
    // The agent process had the job, and another process is in session now: what it
    // measured is gone.
    bool agent_restarted = false;
    // The gang has begun without this agent: it cannot join again.
    bool gang_started = false;
    // Adopted, and this process has not heard that the agent ever had the job.
    bool unheard = false;
  };
  // Jobs assigned less than `grace` ago are left out: their Assign may still be on its
  // way.
  std::vector<Missing> MissingAt(const std::string& node_id, const std::string& agent_instance_id,
                                 const std::vector<storage::JobEpoch>& reported,
                                 Duration grace) const;

  // Attempts with an agent that no State has spoken for during `lease`, and its node. For
  // a gang that has not begun, `absent` is enough if `in_session` does not hold: its
  // other nodes stand idle for it.
  struct Lost {
    storage::LeasedJob job;
    std::string node_id;
    MonotonicTime last_seen;  // When it spoke of the job.
  };
  std::vector<Lost> LostSince(Duration lease, Duration absent,
                              const std::function<bool(const std::string&)>& in_session) const;
  // True if an agent that this process has heard has yet to finish its part, so that LostSince
  // tells of it if it falls silent.
  bool AwaitsHeard(const storage::JobEpoch& job) const;

  // Gangs that have waited longer than `prepare` for agents to be ready.
  std::vector<GangWait> UnpreparedSince(Duration prepare) const;
  // Returns the reasons for waiting if the job is a gang whose agents are not all ready.
  std::optional<GangWait> WaitOf(const storage::JobEpoch& job) const;

  std::vector<storage::LeasedJob> All() const;

 private:
  struct Member {
    bool finished = false;  // Well or not.
    std::optional<v1::Failure> failure;
    bool reported = false;
    std::optional<MonotonicTime> ready;
    std::string agent_instance_id;  // Empty until known.
    std::string name;               // As well.
    MonotonicTime assigned;
    // Absent for an adopted job's node that has not spoken yet: another coordinator may
    // have its session.
    std::optional<MonotonicTime> last_seen;
  };
  // Where a gang over several nodes is; kStarted for all other jobs.
  enum class Stage { kPreparing, kAdopted, kStarted };
  struct Entry {
    storage::LeasedJob job;
    MonotonicTime start;
    bool adopted = false;
    Stage stage = Stage::kStarted;
    // Since when its agents are known to wait for its start.
    std::optional<MonotonicTime> preparing_since;
    std::map<std::string, Member> members;  // By node.
    std::string rendezvous_token;
    CaseOutcomes outcomes;
    std::optional<MonotonicTime> first_failure;  // When the first one was noted.
  };

  Entry* FindEntry(const storage::JobEpoch& job) ASSAY_REQUIRES(mutex_);
  const Entry* FindEntry(const storage::JobEpoch& job) const ASSAY_REQUIRES(mutex_);
  // nullopt if the gang has started, or is not known to wait.
  std::optional<GangWait> WaitOfEntry(const Entry& entry) const ASSAY_REQUIRES(mutex_);

  const Clock& clock_;
  mutable Mutex mutex_;
  std::map<std::string, Entry> entries_ ASSAY_GUARDED_BY(mutex_);  // By job id.
};

}  // namespace assay::coordinator
