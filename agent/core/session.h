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

// The stream to the coordinator in one session. All methods may be called from any thread and
// return immediately.
class Link {
 public:
  virtual ~Link() = default;
  // Queues a message. A new AgentState replaces one that is still queued.
  virtual void Send(v1::AgentMessage message) = 0;
  // Closes the stream once all queued messages have been sent. If the agent opened the connection,
  // it then reconnects; `reconnect` says when, and to which coordinator.
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
  // Returns the time at which the agent must start to stop the job. The job's processes take a few
  // seconds to exit, and must have done so before the job's lease (the time-limited permission to
  // run it) expires.
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
// Hello introduces the agent, and HelloAck is the coordinator's answer. Spooled results wait on
// disk until it acknowledges them. A newer link (a stream to a coordinator) replaces an older one.
//
// Jobs keep running without a connection to the coordinator. A job ends when it finishes, is
// cancelled, is assigned again with a newer epoch (assignment number), or loses its lease (the
// permission to run it). If the agent connects to another fleet, the old fleet's jobs keep running,
// but the new coordinator learns nothing about them or their results.
//
// All methods except stats() must be called on the executor, which must have exactly one thread.
// The session must also be destroyed there. The destructor stops all jobs and waits for them.
class Session {
 public:
  struct Options {
    const Clock* clock = nullptr;
    Executor* executor = nullptr;
    JobLauncher* launcher = nullptr;
    Spool* spool = nullptr;
    Occupancy* occupancy = nullptr;
    std::shared_ptr<Node> node;
    // Starts a check of the node (see CheckNode) and returns immediately. Must call `done` exactly
    // once, from any thread.
    std::function<void(std::function<void(v1::NodeChecked)> done)> check_node;
    // Returns the state of the GPUs, or an empty list if it is unknown. Must not block. Called at
    // most once per heartbeat period. Not set on nodes without GPUs.
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

  // Hands all jobs back to the coordinator because the agent is stopping. Stops their processes and
  // accepts no new jobs. Closes the link once the coordinator has acknowledged the end of every
  // job, or after 8 s at the latest, and then calls `done` on the executor.
  void HandBack(const std::string& reason, std::function<void()> done);

  // Returns how long the agent may wait before it reconnects, or nullopt if there is no limit. An
  // agent with jobs or unsent results must reconnect within two heartbeat periods. Otherwise, the
  // coordinator could give up on its jobs.
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
  // A pointer to the session for a node check that runs on another thread. Becomes null if the
  // session is destroyed before the check finishes.
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

  // Sends a State message, which lists the running jobs and doubles as the heartbeat. Includes the
  // state of the GPUs at most once per heartbeat period.
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
  // Keeps a result on disk even though the coordinator does not know the job that produced it,
  // because the coordinator's database may later be restored from a backup that includes the job.
  // Deletes the result once it is a week old.
  void KeepUnknown(const ResultKey& key);
  bool DeleteIfOld(const ResultKey& key);
  void DeleteUnknown(MonotonicTime now);
  MonotonicTime NextDeadline() const;
  void Arm();
  AssignedJob* Find(const std::string& job_id, int64_t epoch);
  // Returns the job if the current coordinator's fleet assigned it, and null otherwise. Use this
  // for messages from a coordinator, so that they cannot affect the jobs of another fleet.
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
  // The most recent JobFinished messages that the coordinator has acknowledged. If the coordinator
  // assigns one of these jobs again, the agent resends the message instead of running the job
  // again.
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
