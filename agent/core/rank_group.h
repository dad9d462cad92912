// The ranks of one job on this node: a runner process each, from start to end.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/core/group_failure.h"
#include "agent/core/job_launcher.h"
#include "agent/core/rank_process.h"
#include "common/mutex.h"

namespace assay::agent {

// Runs the ranks of a job on the calling thread, with poll(2) over all their pipes.
//
//   Starting --all ranks Ready--> single rank, or all ranks here --> Running
//                                 ranks elsewhere too: Waiting --Go--> Running
//   Running --Finished from every rank--> Ended, without failure
//   any --crash, protocol error, timeout, Stop--> Stopping (SIGTERM to all, SIGKILL
//         2 s later) --every process gone--> Ended, with the failure
//
// After a crash GroupFailure tells how long the other ranks may say more, and which failure counts.
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
    std::vector<Rank> ranks;     // Those of this node.
    Duration timeout{0};         // Of the whole job, from Run on.
    Duration event_patience{0};  // For the rest of an event that has begun.
    std::string cache_folder;    // As RunnerEnvironment takes it.
    std::string node_name;       // In messages of a gang over several nodes.
    // GangEnvironment's answer.
    std::map<std::string, std::string> nccl;
    // From Run until every rank here is ready; twice that until Go.
    Duration prepare{0};
  };

  // `events.finished` is not called here. `events` outlives this.
  RankGroup(Options options, const JobEvents& events);
  ~RankGroup();
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;

  // Once. Returns after every process has gone. `on_started` is called when the
  // first runner has started.
  std::optional<v1::Failure> Run(const std::function<void()>& on_started);

  // From any thread, also before Run.
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
    std::optional<MonotonicTime> partial_since;  // An event has begun and not ended.
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
  void OnLostPeer(const RankState& state, const v1::RunnerAborted& aborted, v1::Failure mine);
  Status OnFinished(RankState* state);
  void OnAllReady();
  void SendToken(const std::string& token);
  void CheckDeadlines();
  void CheckStalled(MonotonicTime now);
  void CheckPrepared(MonotonicTime now);
  void OnTimeout();
  MonotonicTime NextDeadline() const;
  // When the job has to be over; while ranks meet, rank 0's node is the first to say that it is
  // not.
  MonotonicTime Deadline() const;
  // When the ranks have to be ready, or to begin; max() once they have.
  MonotonicTime PrepareDeadline() const;
  void Fail(v1::Failure failure, Telling telling = Telling::kEverything);
  void FailRank(const RankState& state, v1::Reason reason, const std::string& message) {
    Fail(FailureOf(state, reason, message));
  }
  v1::Failure FailureOf(const RankState& state, v1::Reason reason,
                        const std::string& message) const;
  void Suspect(Telling telling, v1::Failure failure);
  void End();
  bool AllGone() const;
  // From the token on until rank 0 says that all have met.
  bool Meeting() const {
    return phase_ == Phase::kRunning && !last_case_ && options_.spec.world_size() > 1;
  }
  bool Spread() const {
    return static_cast<int>(options_.ranks.size()) < options_.spec.world_size();
  }
  std::string Where(const RankState& state) const;
  // ", last seen in: case 2 (bytes=1024), measure", or empty before there is anything to tell.
  std::string LastSeen() const;
  std::string Who(const RankState& state) const;
  // "rank 1 on node g2", "ranks 1, 2 on node g2": of those for which this holds.
  std::string WhoOf(bool (*holds)(const RankState&)) const;

  const Options options_;
  const JobEvents& events_;
  FileDescriptor wake_;  // An eventfd: a request has come.

  // The thread of Run only.
  std::vector<RankState> ranks_;
  Phase phase_ = Phase::kStarting;
  std::string token_;
  std::string last_phase_;
  std::optional<int> last_case_;
  GroupFailure failure_;
  std::set<int> missing_cases_;
  MonotonicTime start_;
  MonotonicTime deadline_;   // Of the job, but for what Deadline() adds.
  MonotonicTime kill_time_;  // Of Stopping: when SIGTERM has not helped.
  bool killed_ = false;
  // The job's time was over while ranks met: rank 0 says which had not come.
  bool asks_absent_ = false;

  Mutex mutex_;
  std::optional<v1::Failure> stop_request_ ASSAY_GUARDED_BY(mutex_);
  std::optional<std::string> go_request_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace assay::agent
