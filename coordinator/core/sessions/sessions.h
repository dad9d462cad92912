// Keeps the agents that have a session with this coordinator, and sends messages to them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/v1/node_service.pb.h"
#include "assay/v1/session.pb.h"
#include "assay/v1/telemetry.pb.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/status.h"
#include "wire/roles.h"

namespace assay::coordinator {

// The coordinator's end of one stream. Thread-safe; no call blocks.
class SessionSink {
 public:
  virtual ~SessionSink() = default;
  // Returns the identity proved by the peer's certificate. Call this only after the first message
  // has arrived. After the stream has ended, returns an identity with the role kNone.
  virtual Identity Peer() = 0;
  // Returns the peer's IP address, or "" if it is unknown or the stream has ended.
  virtual std::string PeerAddress() = 0;
  // Queues a message to be sent after all earlier ones. The new message replaces any queued message
  // with the same purpose, such as a lease renewal or the Assign of the same job. Does nothing
  // after the stream has ended.
  virtual void Send(v1::CoordinatorMessage message) = 0;
  // Tells the sink to read again, after OnMessage had reported that the inbox was full.
  virtual void ReadMore() = 0;
  // Ends the stream with `status` once all queued messages have been sent. Idempotent.
  virtual void Close(const Status& status) = 0;
};

// An agent that has a session.
struct Agent {
  std::string node_id;
  std::string name;
  std::string instance_id;
  std::string dial_address;  // Empty if the agent dialed.
  std::string key_hash;      // Of the agent's certificate; empty without one.
  // The description that the agent sent. Both descriptions are without benchmarks.
  std::shared_ptr<const v1::NodeDescription> own_description;
  // The description sent by the agent, but with the labels and price set by operators. Filled in by
  // Sessions.
  std::shared_ptr<const v1::NodeDescription> description;
  std::shared_ptr<const v1::Schemas> schemas;  // Shared by nodes with equal schemas.
  // The agent's clock minus this process's clock, measured using Hello, the agent's first message.
  // Absent if the agent is too old to send its time.
  std::optional<double> clock_offset_seconds;
};

// The state of a node's GPUs at one of its heartbeats.
using Telemetry = std::shared_ptr<const std::vector<v1::GpuTelemetry>>;

// A node that has a session, for metrics.
struct SessionState {
  std::shared_ptr<const v1::NodeDescription> node;
  WallTime heard{};                    // When the last heartbeat came.
  Telemetry gpus;                      // As FindTelemetry returns it.
  std::optional<int64_t> spool_depth;  // Absent before the first heartbeat.
  std::optional<double> clock_offset_seconds;
};

// Returns a copy of an agent's telemetry, limited in size and sorted by GPU index. Omits GPUs after
// the 64th, values that are not finite, and long or odd texts.
std::vector<v1::GpuTelemetry> BoundedTelemetry(
    const google::protobuf::RepeatedPtrField<v1::GpuTelemetry>& sent);

// The registry of the agents that have a session with this coordinator. Thread-safe.
class Sessions {
 public:
  explicit Sessions(const Clock& clock) : clock_(clock) {}

  // Returns an error if the node has a session that `agent` must not replace. Someone may have
  // copied the data folder, so that two agents claim to be the same node. An agent must not replace
  // - an agent with another key, or
  // - another agent process that was heard from less than `lately` ago.
  Status CheckReplacement(const Agent& agent, const std::string& peer_address,
                          Duration lately) const;
  // Registers `sink` as the connection to this agent. Closes an earlier session of the node.
  void Put(const Agent& agent, std::shared_ptr<SessionSink> sink);
  // Removes the agent if `sink` is still its connection. Does nothing if a newer session has
  // replaced the connection. Returns true if the agent was removed.
  bool Drop(const std::string& node_id, const SessionSink* sink);
  // Records that the agent has sent a heartbeat.
  void NoteHeard(const std::string& node_id);
  // Replaces the agent's own description if `sink` is still the agent's connection.
  void SetDescription(const std::string& node_id, const SessionSink* sink,
                      std::shared_ptr<const v1::NodeDescription> own);
  // Sets the labels and prices chosen by operators, by node id. They apply to current and future
  // sessions.
  using Settings = std::map<std::string, v1::NodeSettings>;
  void SetSettings(Settings settings);
  // Stores the agent's running jobs, the depth of its spool (results not yet delivered) and, if
  // included in `state`, the telemetry of its GPUs, limited by BoundedTelemetry. Does nothing
  // unless `sink` is still the agent's connection.
  void SetState(const std::string& node_id, const SessionSink* sink, const v1::AgentState& state);
  // Records that the agent is about to leave: it gets no new jobs.
  void MarkLeaving(const std::string& node_id, const SessionSink* sink);

  // Returns false if the node has no session. A sent message may still be lost on the way.
  bool Send(const std::string& node_id, v1::CoordinatorMessage message) const;
  // Ends the node's session, if there is one.
  void Close(const std::string& node_id, const Status& status) const;
  // Ends all sessions with `status`. Asks every agent to reconnect after `reconnect_after`, trying
  // the coordinator at `address` first unless that is empty.
  void CloseAll(Duration reconnect_after, const std::string& address, const Status& status) const;

  std::optional<Agent> Find(const std::string& node_id) const;
  bool Has(const std::string& node_id) const { return Find(node_id).has_value(); }
  // Returns the nodes that may be assigned jobs: those whose agents are not about to leave and were
  // heard from less than `lately` ago.
  std::vector<std::string> AssignableNodeIds(Duration lately) const;
  // Returns the latest telemetry of a node's GPUs. Returns null if the node has no session, or if
  // its agent has not sent telemetry for `lately`, for example because the node has no GPUs.
  Telemetry FindTelemetry(const std::string& node_id, Duration lately) const;
  // Returns the jobs that the agent reported as running in its last message, a few hundred at most.
  // Includes jobs that the agent was told to stop, until their processes have exited.
  std::vector<std::string> RunningJobIds(const std::string& node_id) const;
  // Returns all nodes that have a session, each with the telemetry that FindTelemetry would return.
  std::vector<SessionState> List(Duration lately) const;
  size_t count() const;

 private:
  struct Entry {
    Agent agent;
    std::shared_ptr<SessionSink> sink;
    bool leaving = false;
    MonotonicTime heard;
    Telemetry telemetry;  // Null if none was sent.
    MonotonicTime telemetry_time{};
    std::optional<int64_t> spool_depth;
    std::vector<std::string> running_job_ids;
  };
  Telemetry Recent(const Entry& entry, Duration lately) const;
  // Returns the description of a node with its settings.
  std::shared_ptr<const v1::NodeDescription> Effective(
      const std::string& node_id, const std::shared_ptr<const v1::NodeDescription>& own) const
      ASSAY_REQUIRES(mutex_);

  const Clock& clock_;
  mutable Mutex mutex_;
  std::map<std::string, Entry> entries_ ASSAY_GUARDED_BY(mutex_);  // By node id.
  Settings settings_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace assay::coordinator
