// A session with one agent. Either side may have opened the connection.
//
//   OnMessage(Hello)      node stored
//   +-----+   valid   +------------+            +--------+
//   | new | --------> | connecting | ---------> | active |
//   +-----+           +------------+  HelloAck  +--------+
//      |                    |                     |    ^
//      | not a Hello,       | name taken,         |    | State, GangReady, CaseResult,
//      | bad Hello          | stream ended        |    +-JobFinished, GoingAway
//      v                    v                     | stream ended, replaced,
//   +----------------------------------+          | or broke the protocol
//   |              closed              | <--------+
//   +----------------------------------+
//
// Messages wait in an inbox and are handled one after the other on the executor, so that a
// JobFinished is never judged before the results that precede it. While the database is
// unreachable, the first message is retried and the inbox fills. When the inbox is full, the stream
// is not read any further, so the agent must wait.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/v1/session.pb.h"
#include "coordinator/core/attempts/attempts.h"
#include "coordinator/core/attempts/outage.h"
#include "coordinator/core/attempts/result_intake.h"
#include "coordinator/core/environment.h"
#include "coordinator/core/leadership.h"
#include "coordinator/core/sessions/heartbeats.h"
#include "coordinator/core/sessions/quarantine.h"
#include "coordinator/core/sessions/sessions.h"

namespace assay::coordinator {

// The highest revision of the session protocol that this coordinator supports.
inline constexpr int kProtocolRevision = 1;

// The dependencies of sessions; all of them outlive every session.
struct SessionServices {
  const Environment& environment;
  const Options& options;
  Sessions& sessions;
  Attempts& attempts;
  Heartbeats& heartbeats;
  ResultIntake& results;
  Outage& outage;
  const Leadership& leadership;
  Quarantine& quarantine;
  // Called when a node has a session and can be given jobs.
  std::function<void(const Agent&)> on_attached;
};

// Checks the Hello message with which an agent opens a session. Returns INVALID_ARGUMENT if the
// node is missing, its id or name is invalid, the protocol revision is below 1, or a field exceeds
// its size limit.
Status CheckHello(const v1::Hello& hello);

// Checks that the peer's certificate is that of `node`. Returns PERMISSION_DENIED if it is not.
// Peers without a certificate may claim to be any node.
Status CheckPeer(const Identity& peer, const v1::NodeDescription& node);

// The coordinator's side of a session with one agent. Thread-safe. Create it with std::make_shared.
class Session : public std::enable_shared_from_this<Session> {
 public:
  // `dial_address` is empty if the agent opened the connection.
  Session(const SessionServices& services, std::shared_ptr<SessionSink> sink,
          std::string dial_address);

  // Queues a message from the agent without blocking. Returns false if the inbox is now full. The
  // caller must then wait for SessionSink::ReadMore before passing the next message.
  bool OnMessage(v1::AgentMessage message);

  // Handles the end of the stream. Drops the messages in the inbox, because the agent resends all
  // messages that were not acknowledged.
  void OnClosed();

 private:
  enum class State { kNew, kConnecting, kActive, kClosed };
  using Work = std::vector<v1::AgentMessage>;

  std::string node_id();
  void Drain(int attempt);
  // Takes one message from the inbox, or several consecutive results, at most kResultBatch.
  Work TakeWork();
  void PutBack(Work work);
  // Returns true if the sink may continue reading after `work` is done.
  bool Release(const Work& work);

  // If this returns UNAVAILABLE, call it again. Any other error ends the session.
  Status Handle(const Work& work);
  // Begins the session. If this coordinator is not the leader, turns the agent away. If the
  // database lacks the schemas of the agent's benchmarks, asks the agent for them.
  Status HandleHello(const v1::Hello& hello);
  Status HandleSchemas(const v1::Schemas& schemas);
  // Ends the session and names the leader to the agent.
  Status SendAway();
  // Stores the node and makes the session active.
  Status Greet(const v1::Hello& hello);
  // Replaces the labels, provider and price in the agent's description with those of the invite
  // with which the node joined. Operators can later override the labels and the price, in
  // Node.settings.
  Status ApplyInvite(const Identity& peer, v1::NodeDescription& node) const;
  // Returns an error if another agent has a session as the same node, and informs that agent.
  Status CheckReplacement(const Agent& agent);
  Status HandleResults(const Work& work);
  Status HandleActive(const v1::AgentMessage& message);
  // Replaces the findings that the agent reported when it connected.
  Status StoreHealth(const std::string& node_id, const v1::NodeChecked& checked);
  // Stores the node of a session, with its benchmarks.
  Status StoreAgent(const Agent& agent);
  void Disconnect(int attempt);

  const SessionServices services_;
  const std::shared_ptr<SessionSink> sink_;
  const std::string dial_address_;

  Mutex mutex_;
  State state_ ASSAY_GUARDED_BY(mutex_) = State::kNew;
  std::string node_id_ ASSAY_GUARDED_BY(mutex_);                 // Set when connecting.
  std::optional<WallTime> hello_time_ ASSAY_GUARDED_BY(mutex_);  // When Hello came.
  // The Hello that waits for its schemas. Only Drain uses it.
  std::optional<v1::Hello> hello_;
  std::deque<v1::AgentMessage> inbox_ ASSAY_GUARDED_BY(mutex_);
  size_t held_messages_ ASSAY_GUARDED_BY(mutex_) = 0;  // In the inbox or being handled.
  size_t held_bytes_ ASSAY_GUARDED_BY(mutex_) = 0;
  bool paused_ ASSAY_GUARDED_BY(mutex_) = false;    // ReadMore must be called.
  bool draining_ ASSAY_GUARDED_BY(mutex_) = false;  // Drain is running or posted.
};

}  // namespace assay::coordinator
