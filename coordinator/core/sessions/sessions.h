// Which agents are in session with this coordinator, and how to reach them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/v1/session.pb.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/status.h"

namespace assay::coordinator {

// The coordinator's end of one stream. Thread-safe; no call blocks.
class SessionSink {
 public:
  virtual ~SessionSink() = default;
  // Sends after all that was sent before. Of messages with the same meaning that have
  // not left yet (renewals; Assigns of one job) only the latest goes out. No effect
  // once the stream has ended.
  virtual void Send(v1::CoordinatorMessage message) = 0;
  // The session can take messages again after it refused to (Session::OnMessage).
  virtual void ReadMore() = 0;
  // Ends the stream with `status` once what was sent has gone out. Idempotent.
  virtual void Close(const Status& status) = 0;
};

// An agent as the others see it.
struct Agent {
  std::string node_id;
  std::string name;
  std::string instance_id;
  std::string dial_address;  // Empty if it attached by itself.
  std::shared_ptr<const v1::NodeDescription> description;
};

// Thread-safe.
class Sessions {
 public:
  // Makes `sink` the way to this agent; an earlier session of the node is closed.
  void Put(const Agent& agent, std::shared_ptr<SessionSink> sink);
  // Forgets the agent if `sink` is still the way to it; true if it was.
  bool Drop(const std::string& node_id, const SessionSink* sink);
  // The agent is about to leave: it gets no new jobs.
  void MarkLeaving(const std::string& node_id, const SessionSink* sink);

  // False if the node is not in session; what is sent may still be lost on the way.
  bool Send(const std::string& node_id, v1::CoordinatorMessage message) const;
  // Ends the node's session, if there is one.
  void Close(const std::string& node_id, const Status& status) const;
  // Asks every agent to come back later, and ends all sessions.
  void CloseAll(Duration reconnect_after) const;

  std::optional<Agent> Find(const std::string& node_id) const;
  bool Has(const std::string& node_id) const { return Find(node_id).has_value(); }
  // Nodes that may get jobs.
  std::vector<std::string> AssignableNodeIds() const;
  size_t count() const;

 private:
  struct Entry {
    Agent agent;
    std::shared_ptr<SessionSink> sink;
    bool leaving = false;
  };
  mutable Mutex mutex_;
  std::map<std::string, Entry> entries_ ASSAY_GUARDED_BY(mutex_);  // By node id.
};

}  // namespace assay::coordinator
