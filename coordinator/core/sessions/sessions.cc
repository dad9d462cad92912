#include "coordinator/core/sessions/sessions.h"

#include <utility>

#include "wire/durations.h"

namespace assay::coordinator {

Status Sessions::CheckReplacement(const std::string& node_id, const std::string& serial) const {
  MutexLock lock(mutex_);
  const auto found = entries_.find(node_id);
  if (found == entries_.end() || found->second.agent.serial == serial) return Status::Ok();
  return Status(Code::kPermissionDenied, Reason::kNotPermitted,
                "node " + found->second.agent.name + " has a session with another certificate")
      .WithHint("end that agent first; a session that broke off ends within a minute");
}

void Sessions::Put(const Agent& agent, std::shared_ptr<SessionSink> sink) {
  std::shared_ptr<SessionSink> replaced;
  {
    MutexLock lock(mutex_);
    Entry& entry = entries_[agent.node_id];
    replaced = std::exchange(entry.sink, std::move(sink));
    entry.agent = agent;
    entry.leaving = false;
    if (replaced == entry.sink) replaced = nullptr;
  }
  if (replaced) {
    replaced->Close(Status(Code::kAborted, Reason::kSessionReplaced,
                           "another session of node " + agent.name + " has taken over"));
  }
}

bool Sessions::Drop(const std::string& node_id, const SessionSink* sink) {
  MutexLock lock(mutex_);
  const auto found = entries_.find(node_id);
  if (found == entries_.end() || found->second.sink.get() != sink) return false;
  entries_.erase(found);
  return true;
}

void Sessions::MarkLeaving(const std::string& node_id, const SessionSink* sink) {
  MutexLock lock(mutex_);
  const auto found = entries_.find(node_id);
  if (found != entries_.end() && found->second.sink.get() == sink) found->second.leaving = true;
}

bool Sessions::Send(const std::string& node_id, v1::CoordinatorMessage message) const {
  std::shared_ptr<SessionSink> sink;
  {
    MutexLock lock(mutex_);
    const auto found = entries_.find(node_id);
    if (found == entries_.end()) return false;
    sink = found->second.sink;
  }
  sink->Send(std::move(message));
  return true;
}

void Sessions::Close(const std::string& node_id, const Status& status) const {
  std::shared_ptr<SessionSink> sink;
  {
    MutexLock lock(mutex_);
    const auto found = entries_.find(node_id);
    if (found == entries_.end()) return;
    sink = found->second.sink;
  }
  sink->Close(status);
}

void Sessions::CloseAll(Duration reconnect_after) const {
  std::vector<std::shared_ptr<SessionSink>> sinks;
  {
    MutexLock lock(mutex_);
    for (const auto& [node_id, entry] : entries_) sinks.push_back(entry.sink);
  }
  v1::CoordinatorMessage message;
  *message.mutable_reconnect()->mutable_after() = ToProto(reconnect_after);
  for (const auto& sink : sinks) {
    sink->Send(message);
    sink->Close(Unavailable("the coordinator is shutting down", Reason::kShuttingDown));
  }
}

std::optional<Agent> Sessions::Find(const std::string& node_id) const {
  MutexLock lock(mutex_);
  const auto found = entries_.find(node_id);
  return found == entries_.end() ? std::nullopt : std::optional(found->second.agent);
}

std::vector<std::string> Sessions::AssignableNodeIds() const {
  MutexLock lock(mutex_);
  std::vector<std::string> ids;
  for (const auto& [node_id, entry] : entries_) {
    if (!entry.leaving) ids.push_back(node_id);
  }
  return ids;
}

size_t Sessions::count() const {
  MutexLock lock(mutex_);
  return entries_.size();
}

}  // namespace assay::coordinator
