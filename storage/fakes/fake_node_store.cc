#include "storage/fakes/fake_node_store.h"

#include <algorithm>
#include <set>

#include "storage/no_such.h"
#include "wire/timestamps.h"

namespace assay::storage {

Status FakeNodeStore::Connect(const std::string& owner, const v1::NodeDescription& node,
                              const std::string& dial_address) {
  MutexLock lock(database_.mutex);
  for (auto& [id, row] : database_.nodes) {
    if (id == node.node_id() || row.description.name() != node.name()) continue;
    if (!row.owner.empty()) {
      return Status(Code::kAlreadyExists, Reason::kNodeNameTaken,
                    "another node named \"" + node.name() + "\" is connected");
    }
    std::string aside = node.name() + " (old)";
    for (int number = 2; Find(aside) != nullptr; ++number) {
      aside = node.name() + " (old " + std::to_string(number) + ")";
    }
    row.description.set_name(aside);
  }
  const WallTime now = database_.clock.WallNow();
  const auto [it, fresh] = database_.nodes.try_emplace(node.node_id());
  NodeRow& row = it->second;
  if (fresh) row.first_seen = now;
  row.description = node;
  row.owner = owner;
  row.dial_address = dial_address;
  row.last_heartbeat = now;
  row.heard_at = database_.clock.Now();
  return Status::Ok();
}

Status FakeNodeStore::Heartbeat(const std::string& owner,
                                const std::vector<std::string>& node_ids) {
  MutexLock lock(database_.mutex);
  for (const std::string& id : node_ids) {
    const auto it = database_.nodes.find(id);
    if (it == database_.nodes.end() || it->second.owner != owner) continue;
    it->second.last_heartbeat = database_.clock.WallNow();
    it->second.heard_at = database_.clock.Now();
  }
  return Status::Ok();
}

Status FakeNodeStore::Disconnect(const std::string& owner, const std::string& node_id) {
  MutexLock lock(database_.mutex);
  const auto it = database_.nodes.find(node_id);
  if (it != database_.nodes.end() && it->second.owner == owner) it->second.owner.clear();
  return Status::Ok();
}

Result<bool> FakeNodeStore::IsElsewhere(const std::string& owner, const std::string& node_id,
                                        Duration stale_after) {
  MutexLock lock(database_.mutex);
  const auto it = database_.nodes.find(node_id);
  if (it == database_.nodes.end()) return false;
  const NodeRow& row = it->second;
  return !row.owner.empty() && row.owner != owner &&
         database_.clock.Now() - row.heard_at <= stale_after;
}

Result<std::vector<v1::Node>> FakeNodeStore::ListNodes(Duration stale_after) {
  MutexLock lock(database_.mutex);
  std::vector<v1::Node> nodes;
  for (const auto& [id, row] : database_.nodes) nodes.push_back(Message(row, stale_after));
  std::sort(nodes.begin(), nodes.end(), [](const v1::Node& a, const v1::Node& b) {
    return a.description().name() < b.description().name();
  });
  return nodes;
}

Result<v1::Node> FakeNodeStore::GetNode(const std::string& id_or_name, Duration stale_after) {
  MutexLock lock(database_.mutex);
  const NodeRow* row = Find(id_or_name);
  if (row == nullptr) return NoNode(id_or_name);
  return Message(*row, stale_after);
}

Status FakeNodeStore::AddDialAddress(const std::string& address) {
  MutexLock lock(database_.mutex);
  database_.dial_addresses.insert(address);
  return Status::Ok();
}

Result<std::vector<std::string>> FakeNodeStore::ListDialAddresses() {
  MutexLock lock(database_.mutex);
  return std::vector<std::string>(database_.dial_addresses.begin(), database_.dial_addresses.end());
}

Status FakeNodeStore::RemoveNode(const std::string& id_or_name) {
  MutexLock lock(database_.mutex);
  const NodeRow* row = Find(id_or_name);
  if (row == nullptr) return NoNode(id_or_name);
  if (!Message(*row, Duration::max()).job_ids().empty()) {
    return FailedPrecondition("node \"" + row->description.name() + "\" runs a job",
                              Reason::kNodeBusy);
  }
  database_.dial_addresses.erase(row->dial_address);
  database_.nodes.erase(row->description.node_id());
  return Status::Ok();
}

v1::Node FakeNodeStore::Message(const NodeRow& row, Duration stale_after) const {
  v1::Node message;
  *message.mutable_description() = row.description;
  const bool heard = database_.clock.Now() - row.heard_at <= stale_after;
  message.set_state(heard && !row.owner.empty() ? v1::NODE_STATE_CONNECTED
                                                : v1::NODE_STATE_DISCONNECTED);
  for (const auto& [id, job] : database_.jobs) {
    const auto& nodes = job.node_ids;
    if (job.state != v1::JOB_STATE_RUNNING) continue;
    if (std::find(nodes.begin(), nodes.end(), row.description.node_id()) == nodes.end()) continue;
    message.add_job_ids(id);
  }
  *message.mutable_first_seen_time() = schema::ToTimestamp(row.first_seen);
  *message.mutable_last_heartbeat_time() = schema::ToTimestamp(row.last_heartbeat);
  message.set_dial_address(row.dial_address);
  return message;
}

Status FakeNodeStore::NoNode(const std::string& id_or_name) const {
  std::set<std::string> names;
  for (const auto& [id, row] : database_.nodes) names.insert(row.description.name());
  return NoSuch("node", id_or_name, {names.begin(), names.end()});
}

FakeNodeStore::NodeRow* FakeNodeStore::Find(const std::string& id_or_name) {
  const auto it = database_.nodes.find(id_or_name);
  if (it != database_.nodes.end()) return &it->second;
  for (auto& [id, row] : database_.nodes) {
    if (row.description.name() == id_or_name) return &row;
  }
  return nullptr;
}

}  // namespace assay::storage
