// The agent's side of a session with a coordinator. Either side may have opened the connection.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "agent/core/job_launcher.h"
#include "agent/core/node.h"
#include "agent/core/occupancy.h"
#include "agent/core/spool.h"
#include "agent/core/telemetry.h"
#include "assay/v1/session.pb.h"
#include "common/clock.h"
#include "common/executor.h"
#include "common/mutex.h"

namespace assay::agent {

// A coordinator's request to reconnect.
struct ReconnectRequest {
  Duration after{0};    // The least time to wait.
  std::string address;  // HOST:PORT of the coordinator to try first; empty: none is named.
};

// The stream that connects a session with its coordinator. All methods may be called from any
// thread and return immediately.
class Link {
 public:
  virtual ~Link() = default;
  // Queues a message. A new AgentState replaces one that is still queued.
  virtual void Send(v1::AgentMessage message) = 0;
  // Ends the stream after all queued messages have been sent. If the agent opened the connection,
  // the agent then reconnects as `reconnect` says.
  virtual void Close(const std::string& reason, std::optional<ReconnectRequest> reconnect) = 0;
};

// The state of a session for metrics.
struct SessionStats {
  bool connected = false;
  int running_jobs = 0;
  std::optional<WallTime> last_heartbeat;  // The last State sent.
};

// A job that the coordinator gave this agent, and its lease.
//
//   Waiting --the node is free--> Running --its processes have ended--> Reporting
//      |                             |            (results, then JobFinished, are sent
//      +--cancelled, out of lease----+-------->    until acknowledged) --> removed
//
// If the coordinator assigns the same job again with a newer epoch, the old AssignedJob is stopped.
// Once its processes have ended, it is removed without a report.
struct AssignedJob {
  using Id = std::pair<std::string, int64_t>;  // Job and epoch.
  enum class State { kWaiting, kRunning, kReporting };

  Id id() const { return {spec.job_id(), spec.epoch()}; }
  v1::RunningJob Progress() const;
  // Returns the time at which to begin stopping the job's processes. They must have ended before
  // the job's lease expires, and ending them takes a few seconds.
  MonotonicTime StopTime() const;
  // Extends the lease until `length` after `from`, unless it already ends later.
  void Extend(MonotonicTime from, Duration length);
  // Tells the job's runners, which must have been launched, to end.
  void Stop(v1::Failure why);

  v1::JobSpec spec;
  std::string fleet_id;  // The fleet that assigned the job.
  State state = State::kWaiting;
  bool replaced = false;
  bool stopping = false;                  // Its runners were told to end and still run.
  std::unique_ptr<LaunchedJob> launched;  // While Running.
  std::string phase = "starting";
  int cases_done = 0;
  std::optional<std::string> gang_token;  // Set between GangReady and GangGo.

  MonotonicTime assign_time;
  Duration start_wait{0};  // The part of the start delay in which the node was not free.
  Duration lease_length{0};
  MonotonicTime lease_deadline;

  std::optional<v1::JobFinished> finished;  // While Reporting.
  std::optional<MonotonicTime> finished_sent;
};

// The agent's side of its session with a coordinator. The states are:
//
//   Disconnected --Connected: Hello is sent--> Greeting --HelloAck: State, spooled
//        ^                                       |        results and ends are sent--> Live
//        +-----------Disconnected, Reconnect, no HelloAck within 30 s------------------+
//
// A newer link replaces an older one. Without a link, jobs keep running until they are done, are
// cancelled, are replaced by a newer epoch, or lose their lease. The same applies to jobs that were
// assigned by another fleet than the current coordinator's. The current coordinator learns neither
// of these jobs nor of their results.
//
// Call all methods except stats() on the executor, and destroy the session there as well. The
// executor must have exactly one thread. The destructor stops all jobs and waits for them.
class Session {
 public:
  struct Options {
    const Clock* clock = nullptr;
    Executor* executor = nullptr;
    JobLauncher* launcher = nullptr;
    Spool* spool = nullptr;
    Occupancy* occupancy = nullptr;
    std::shared_ptr<Node> node;
    // Starts a check of the node (see CheckNode) and returns immediately. The implementation must
    // call `done` exactly once, from any thread.
    std::function<void(std::function<void(v1::NodeChecked)> done)> check_node;
    // Returns the state of the GPUs, or an empty list if the state is unknown. Must not block.
    // Called at most once per heartbeat period. This function is empty on nodes without GPUs.
    std::function<Telemetry()> telemetry = nullptr;
    // Called on the executor when a coordinator has welcomed this agent. May be empty.
    std::function<void()> welcomed = nullptr;
  };

  explicit Session(Options options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void Connected(std::shared_ptr<Link> link);
  // Messages of any link but the current one are ignored.
  void Received(const std::shared_ptr<Link>& link, const v1::CoordinatorMessage& message);
  void Disconnected(const std::shared_ptr<Link>& link);

  // Gives all jobs back to the coordinator, because the agent is stopping. Sends GoingAway, stops
  // the runners, and accepts no new jobs. Closes the link for good when the coordinator has
  // acknowledged the end of every job, or after 8 s at the latest. Then calls `done` on the
  // executor.
  void HandBack(const std::string& reason, std::function<void()> done);

  // Returns the longest time that the agent may wait before it reconnects. While the agent has jobs
  // or results, this is two heartbeat periods, so that it is back before the coordinator gives up
  // its jobs. Otherwise there is no limit, and the function returns nullopt.
  std::optional<Duration> ReconnectWithin() const;

  SessionStats stats() const;

 private:
  enum class Phase { kDisconnected, kGreeting, kLive };
  using JobId = AssignedJob::Id;
  struct HandingBack {
    std::string reason;
    std::function<void()> done;  // Empty after it was called.
    MonotonicTime deadline;
  };
  // A link from a node check to the session. The link becomes null if the session is destroyed
  // first.
  struct CheckGate {
    Mutex mutex;
    Session* session ASSAY_GUARDED_BY(mutex) = nullptr;
  };

  void OnHelloAck(const v1::HelloAck& ack);
  void OnAssign(const v1::Assign& assign);
  void OnCancel(const v1::CancelJob& cancel);
  void OnGangGo(const v1::GangGo& go);
  void OnResultAck(const v1::ResultAck& ack);
  void OnJobFinishedAck(const v1::JobFinishedAck& ack);
  void OnLeaseRenewal(const v1::LeaseRenewal& renewal);
  void OnReconnect(const v1::Reconnect& reconnect);
  void OnDuplicateNode(const v1::DuplicateNode& other);
  void OnCheckNode();

  void StartWaitingJobs();
  bool MayStart(const AssignedJob& job) const;
  void Launch(AssignedJob* job);
  JobEvents EventsOf(const JobId& id);
  void OnPhase(const JobId& id, const std::string& phase);
  void OnGangReady(const JobId& id, std::string token);
  void OnResult(const JobId& id, const v1::CaseResult& result);
  void OnResultLost(const JobId& id, const Status& why);
  void OnOutcome(const JobId& id, const JobOutcome& outcome);
  void End(AssignedJob* job, const JobOutcome& outcome);

  // Sends a State message, which is also a heartbeat. The first State in each heartbeat period
  // contains the state of the GPUs. The end of a job is not part of it, but reported by
  // JobFinished.
  void SendState();
  void UpdateStats();
  void SendGangReady(const AssignedJob& job);
  void SendResults();
  void SendFinishedIfReported(AssignedJob* job);
  void SendGoingAway();
  bool HasUnreportedResults(const AssignedJob& job) const;
  void CloseLink(const std::string& reason, std::optional<ReconnectRequest> reconnect);
  void GoOffline();
  void LeaveIfHandedBack();
  // Starts the check that the coordinator asked for, unless the node is measuring.
  void StartCheckIfIdle();
  void OnChecked(v1::NodeChecked checked);

  // Does everything that is due, and schedules the next call.
  void Tick();
  void CheckLeases(MonotonicTime now);
  void Resend(MonotonicTime now);
  // Keeps a result in the spool although the coordinator does not know its job, because the
  // coordinator's database may still be restored from a backup that contains the job. The result is
  // deleted when it is a week old.
  void KeepUnknown(const ResultKey& key);
  bool DeleteIfOld(const ResultKey& key);
  void DeleteUnknown(MonotonicTime now);
  MonotonicTime NextDeadline() const;
  void Arm();
  AssignedJob* Find(const std::string& job_id, int64_t epoch);
  // Returns the job if it belongs to the fleet of the current session, and null otherwise. Use this
  // for messages of a coordinator.
  AssignedJob* FindOfFleet(const std::string& job_id, int64_t epoch);
  void Post(std::function<void()> task);

  const Options options_;
  // Tasks hold a weak reference to this, so that a task that outlives the session does nothing.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  Phase phase_ = Phase::kDisconnected;
  std::shared_ptr<Link> link_;
  std::string fleet_id_;  // Of the last session.
  std::optional<HandingBack> handing_back_;
  MonotonicTime hello_deadline_ = MonotonicTime::max();
  Duration heartbeat_period_;
  MonotonicTime next_heartbeat_ = MonotonicTime::max();
  MonotonicTime next_telemetry_{};
  MonotonicTime armed_for_ = MonotonicTime::max();
  uint64_t sequence_ = 0;
  std::map<uint64_t, MonotonicTime> sent_states_;  // When each of the last States was sent.

  std::map<JobId, AssignedJob> jobs_;
  // Jobs whose end was acknowledged. If an Assign for one of them arrives late, it is answered from
  // here.
  std::deque<v1::JobFinished> recently_finished_;
  std::deque<ResultKey> unsent_;
  std::map<ResultKey, MonotonicTime> in_flight_;  // Sent but not acknowledged.
  // Results whose job the coordinator does not know. They are not sent again in this session.
  std::set<ResultKey> unknown_;
  MonotonicTime next_deletion_ = MonotonicTime::max();

  const std::shared_ptr<CheckGate> check_gate_ = std::make_shared<CheckGate>();
  bool check_wanted_ = false;
  bool checking_ = false;
  std::weak_ptr<Link> check_link_;  // The link that asked last, and gets the answer.

  mutable Mutex stats_mutex_;
  SessionStats stats_ ASSAY_GUARDED_BY(stats_mutex_);
};

}  // namespace assay::agent
