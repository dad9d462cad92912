#include "coordinator/core/sessions/sessions.h"

#include <fmt/format.h>

#include <utility>

#include "common/text.h"
#include "wire/durations.h"

namespace assay::coordinator {

Status Sessions::CheckReplacement(const Agent& agent, const std::string& peer_address,
                                  Duration lately) const {
  MutexLock lock(mutex_);
  const auto found = entries_.find(agent.node_id);
  if (found == entries_.end()) return Status::Ok();
  const Entry& present = found->second;
  if (present.agent.serial != agent.serial) {
    return Status(Code::kPermissionDenied, Reason::kNotPermitted,
                  "node " + present.agent.name + " has a session with another certificate")
        .WithHint("end that agent first; a session that broke off ends within a minute");
  }
  const bool other_process = present.agent.instance_id != agent.instance_id;
  if (!other_process || present.leaving || clock_.Now() - present.heard >= lately) {
    return Status::Ok();
  }
  return Status(Code::kAlreadyExists, Reason::kDuplicateNode,
                fmt::format("two agents use node id {}: {}, which is in session from {}, and {} "
                            "from {}",
                            agent.node_id, present.agent.name, Quote(present.sink->PeerAddress()),
                            agent.name, Quote(peer_address)))
      .WithHint("was the data folder copied? Delete the copy's node_id");
}

void Sessions::NoteHeard(const std::string& node_id) {
  MutexLock lock(mutex_);
  const auto found = entries_.find(node_id);
  if (found != entries_.end()) found->second.heard = clock_.Now();
}

void Sessions::Put(const Agent& agent, std::shared_ptr<SessionSink> sink) {
  std::shared_ptr<SessionSink> replaced;
  {
    MutexLock lock(mutex_);
    Entry& entry = entries_[agent.node_id];
    replaced = std::exchange(entry.sink, std::move(sink));
    entry.agent = agent;
    entry.leaving = false;
    entry.heard = clock_.Now();
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

void Sessions::SetDescription(const std::string& node_id, const SessionSink* sink,
                              std::shared_ptr<const v1::NodeDescription> description) {
  MutexLock lock(mutex_);
  const auto found = entries_.find(node_id);
  if (found == entries_.end() || found->second.sink.get() != sink) return;
  found->second.agent.description = std::move(description);
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

void Sessions::CloseAll(Duration reconnect_after, const std::string& address,
                        const Status& status) const {
  std::vector<std::shared_ptr<SessionSink>> sinks;
  {
    MutexLock lock(mutex_);
    for (const auto& [node_id, entry] : entries_) sinks.push_back(entry.sink);
  }
  v1::CoordinatorMessage message;
  *message.mutable_reconnect()->mutable_after() = ToProto(reconnect_after);
  message.mutable_reconnect()->set_address(address);
  for (const auto& sink : sinks) {
    sink->Send(message);
    sink->Close(status);
  }
}

std::optional<Agent> Sessions::Find(const std::string& node_id) const {
  MutexLock lock(mutex_);
  const auto found = entries_.find(node_id);
  return found == entries_.end() ? std::nullopt : std::optional(found->second.agent);
}

std::vector<std::string> Sessions::AssignableNodeIds(Duration lately) const {
  MutexLock lock(mutex_);
  const MonotonicTime now = clock_.Now();
  std::vector<std::string> ids;
  for (const auto& [node_id, entry] : entries_) {
    if (!entry.leaving && now - entry.heard < lately) ids.push_back(node_id);
  }
  return ids;
}

size_t Sessions::count() const {
  MutexLock lock(mutex_);
  return entries_.size();
}

}  // namespace assay::coordinator
