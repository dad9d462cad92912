// Runs the ranks of one job on this node, each in a runner process.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/core/job_launcher.h"
#include "agent/core/rank_process.h"
#include "common/mutex.h"

namespace assay::agent {

// Returns the name of a case (one set of benchmark parameters) for use in messages, such as "case 2
// (bytes=1024, direction=reverse)". The name includes `case_index` + 1 and the parameters in which
// the job's cases differ.
std::string CaseName(const v1::JobSpec& spec, int case_index);

// The processes (ranks) of one job on this node. The group has these states:
//   - starting, until every rank on this node is ready;
//   - waiting for Go, only if the job also has ranks on other nodes;
//   - running, until every rank has finished;
//   - stopping, after an error, a timeout or Stop: sends SIGTERM, and SIGKILL 2 s later.
// When one rank fails, the others usually follow, in any order. The group gives them one second to
// exit and then reports the failure that best explains the cause.
class RankGroup {
 public:
  struct Rank {
    int rank = 0;
    std::string gpu_uuid;  // Empty: no GPU.
  };
  struct Options {
    std::string runner;
    std::string advertise_address;
    v1::JobSpec spec;
    std::vector<Rank> ranks;     // The ranks of this node.
    Duration timeout{0};         // For the whole job, from Run on.
    Duration event_patience{0};  // For the rest of an event that has begun.
    std::string cache_folder;    // See RunnerEnvironment.
    std::string node_name;       // Named in messages of a gang over several nodes.
    // The result of GangEnvironment.
    std::map<std::string, std::string> nccl;
    // The time limit until every rank of this node is ready. The limit until Go is twice as long.
    Duration prepare{0};
  };

  // `events.finished` is not called here. `events` must outlive this object.
  RankGroup(Options options, const JobEvents& events);
  ~RankGroup();
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;

  // Runs the group on the calling thread until every process has exited. Calls `on_started` once
  // the first process has started. Returns the group's failure, or nullopt if all ranks succeeded.
  // Must be called only once.
  std::optional<v1::Failure> Run(const std::function<void()>& on_started);

  // May be called from any thread, also before Run.
  void Go(std::string token);
  void Stop(v1::Failure why);

 private:
  struct RankState {
    RankState(int rank_number, RankProcess rank_process)
        : rank(rank_number), process(std::move(rank_process)) {}
    int rank;
    RankProcess process;
    bool ready = false;
    bool finished = false;
    bool aborted = false;
    bool gone = false;
    size_t events = 0;
    std::optional<MonotonicTime> partial_since;  // Set while an event has begun and not ended.
  };
  enum class Phase { kStarting, kWaiting, kRunning, kStopping };

  bool SpawnAll();
  void PollOnce();
  void TakeRequests();
  void Serve(RankState* state);
  void OnExit(RankState* state, const ExitStatus& exit);
  Status OnEvent(RankState* state, const v1::RunnerEvent& event);
  Status OnResult(const RankState& state, const v1::CaseResult& result);
  Status OnAborted(RankState* state, const v1::RunnerAborted& aborted);
  Status OnFinished(RankState* state);
  void OnAllReady();
  void SendToken(const std::string& token);
  void CheckDeadlines();
  void CheckStalled(MonotonicTime now);
  void CheckPrepared(MonotonicTime now);
  void OnTimeout();
  MonotonicTime NextDeadline() const;
  // Returns the deadline for the current step of the preparation: first, all ranks must become
  // ready; then, they must be told to begin. Returns max() once they have begun.
  MonotonicTime PrepareDeadline() const;
  // How much a failure says about the cause of the group's end, in ascending order.
  enum class Detail {
    kPeerLost,    // The connection to another rank ended.
    kPeerSilent,  // Another rank did not answer.
    kExit,        // The rank exited without a report.
    kSignal,      // A signal killed the rank; other ranks send none.
    kCause,       // The rank or this agent reports the cause.
  };

  // Keeps the failure if it says more about the cause than the failure that was kept before.
  void Keep(v1::Failure failure, Detail detail);
  // Keeps the failure of a rank that has ended, and gives the others time to end by themselves.
  void KeepOfEndedRank(v1::Failure failure, Detail detail);
  // Keeps the failure and ends the group.
  void Fail(v1::Failure failure);
  void FailRank(const RankState& state, v1::Reason reason, const std::string& message) {
    Fail(FailureOf(state, reason, message));
  }
  v1::Failure FailureOf(const RankState& state, v1::Reason reason,
                        const std::string& message) const;
  void End();
  bool AllGone() const;
  bool Spread() const {
    return static_cast<int>(options_.ranks.size()) < options_.spec.world_size();
  }
  std::string Where(const RankState& state) const;
  // Returns "case 2 (bytes=1024), measure"; empty before the first phase.
  std::string LastPhase() const;
  // Returns ", last seen in: " and the last phase; empty before the first phase.
  std::string LastSeen() const;
  std::string Who(const RankState& state) const;
  // Returns "rank 1 on node g2" or "ranks 1, 2 on node g2" for the ranks for which `holds` is true.
  std::string WhoOf(bool (*holds)(const RankState&)) const;

  const Options options_;
  const JobEvents& events_;
  FileDescriptor wake_;  // An eventfd that signals a request.

  // Used only by the thread of Run.
  std::vector<RankState> ranks_;
  Phase phase_ = Phase::kStarting;
  std::string token_;
  std::string last_phase_;
  std::optional<int> last_case_;
  std::optional<v1::Failure> failure_;
  Detail detail_ = Detail::kPeerLost;  // The detail of failure_.
  // When to call End(); set when the first rank fails.
  std::optional<MonotonicTime> others_may_end_;
  std::set<int> missing_cases_;
  MonotonicTime start_;
  MonotonicTime deadline_;   // The end of the job's time.
  MonotonicTime kill_time_;  // While Stopping: when to send SIGKILL.
  bool killed_ = false;

  Mutex mutex_;
  std::optional<v1::Failure> stop_request_ ASSAY_GUARDED_BY(mutex_);
  std::optional<std::string> go_request_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace assay::agent
