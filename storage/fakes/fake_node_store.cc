#include <algorithm>

#include "storage/fakes/fake_stores.h"
#include "storage/store_rules.h"
#include "wire/benchmark_schema.h"
#include "wire/timestamps.h"

namespace assay::storage {

Status FakeNodeStore::Connect(const std::string& owner, const v1::NodeDescription& node,
                              const std::string& dial_address, Duration stale_after) {
  MutexLock lock(database_.mutex);
  for (auto& [id, row] : database_.nodes) {
    if (id == node.node_id() || row.shown.description().name() != node.name()) continue;
    if (!row.owner.empty() && database_.clock.Now() - row.heard_at <= stale_after) {
      return Status(Code::kAlreadyExists, Reason::kNodeNameTaken,
                    "another node named \"" + node.name() + "\" is connected");
    }
    std::string aside = node.name() + " (old)";
    for (int number = 2; Find(aside).ok(); ++number) {
      aside = node.name() + " (old " + std::to_string(number) + ")";
    }
    row.shown.mutable_description()->set_name(aside);
  }
  const auto now = schema::ToTimestamp(database_.clock.WallNow());
  const auto [it, fresh] = database_.nodes.try_emplace(node.node_id());
  NodeRow& row = it->second;
  if (fresh) *row.shown.mutable_first_seen_time() = now;
  *row.shown.mutable_last_heartbeat_time() = now;
  *row.shown.mutable_description() = node;
  v1::Schemas schemas;
  *schemas.mutable_benchmarks() = node.benchmarks();
  database_.schemas[schema::SchemasHash(schemas)] = schemas;
  row.shown.set_dial_address(dial_address);
  row.owner = owner;
  row.heard_at = database_.clock.Now();
  return Status::Ok();
}

Status FakeNodeStore::Heartbeat(const std::string& owner,
                                const std::vector<std::string>& node_ids) {
  MutexLock lock(database_.mutex);
  for (const std::string& id : node_ids) {
    NodeRow* const row = Connected(owner, id);
    if (row == nullptr) continue;
    *row->shown.mutable_last_heartbeat_time() = schema::ToTimestamp(database_.clock.WallNow());
    row->heard_at = database_.clock.Now();
  }
  return Status::Ok();
}

Status FakeNodeStore::Disconnect(const std::string& owner, const std::string& node_id) {
  MutexLock lock(database_.mutex);
  if (NodeRow* const row = Connected(owner, node_id)) row->owner.clear();
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

Result<std::vector<v1::Node>> FakeNodeStore::ListNodesAfter(const std::string& name, int limit,
                                                            Duration stale_after,
                                                            Benchmarks benchmarks) {
  MutexLock lock(database_.mutex);
  std::vector<v1::Node> nodes;
  for (const auto& [id, row] : database_.nodes) {
    if (row.shown.description().name() <= name) continue;
    nodes.push_back(Message(row, stale_after));
    if (benchmarks == Benchmarks::kNo) nodes.back().mutable_description()->clear_benchmarks();
  }
  std::sort(nodes.begin(), nodes.end(), [](const v1::Node& a, const v1::Node& b) {
    return a.description().name() < b.description().name();
  });
  if (nodes.size() > static_cast<size_t>(limit)) nodes.resize(static_cast<size_t>(limit));
  return nodes;
}

Result<NodeStore::NodeCounts> FakeNodeStore::CountNodes(Duration stale_after) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<v1::Node> nodes,
                         ListNodes(stale_after, Benchmarks::kNo));
  NodeCounts counts;
  for (const v1::Node& node : nodes) {
    const bool connected = node.state() == v1::NODE_STATE_CONNECTED;
    ++(connected ? counts.connected : counts.disconnected);
    if (node.has_cordon()) ++counts.cordoned;
    if (node.has_cordon() && !connected) ++counts.cordoned_disconnected;
    if (!node.description().inventory().simulated()) continue;
    if (node.has_cordon()) ++counts.simulated_cordoned;
    if (node.has_cordon() && !connected) ++counts.simulated_cordoned_disconnected;
    ++(connected ? counts.simulated_connected : counts.simulated_disconnected);
  }
  return counts;
}

Result<v1::Node> FakeNodeStore::GetNode(const std::string& id_or_name, Duration stale_after) {
  MutexLock lock(database_.mutex);
  ASSAY_ASSIGN_OR_RETURN(const NodeRow* row, Find(id_or_name));
  return Message(*row, stale_after);
}

Result<std::shared_ptr<const v1::Schemas>> FakeNodeStore::GetSchemas(
    const std::string& schemas_hash) {
  using Set = std::shared_ptr<const v1::Schemas>;
  MutexLock lock(database_.mutex);
  const auto it = database_.schemas.find(schemas_hash);
  return it == database_.schemas.end() ? Set() : std::make_shared<const v1::Schemas>(it->second);
}

Result<std::vector<std::string>> FakeNodeStore::ListQuarantined() {
  MutexLock lock(database_.mutex);
  std::vector<std::string> ids;
  for (const auto& [id, row] : database_.nodes) {
    if (!row.shown.quarantine().empty()) ids.push_back(id);
  }
  return ids;
}

Status FakeNodeStore::EndQuarantine(const std::string& node_id) {
  MutexLock lock(database_.mutex);
  const auto it = database_.nodes.find(node_id);
  if (it == database_.nodes.end()) return Status::Ok();
  NodeRow& row = it->second;
  row.shown.clear_quarantine();
  row.shown.clear_quarantine_time();
  row.failed_jobs.clear();
  row.failed_campaigns.clear();
  return Status::Ok();
}

Status FakeNodeStore::Cordon(const CordonRequest& request) {
  MutexLock lock(database_.mutex);
  ASSAY_ASSIGN_OR_RETURN(NodeRow* const row, Find(request.node));
  const WallTime now = database_.clock.WallNow();
  v1::Cordon& cordon = *row->shown.mutable_cordon();
  if (!cordon.has_time()) *cordon.mutable_time() = schema::ToTimestamp(now);
  if (!request.reason.empty() || cordon.reason().empty()) {
    cordon.set_reason(request.reason);
    cordon.set_cordoned_by(request.cordoned_by);
  }
  const bool drains =
      cordon.has_drain_deadline() && schema::FromTimestamp(cordon.drain_deadline()) > now;
  if (request.keep_deadline && drains) return Status::Ok();
  cordon.clear_drain_deadline();
  if (request.drain) {
    *cordon.mutable_drain_deadline() = schema::ToTimestamp(now + *request.drain);
  }
  return Status::Ok();
}

Status FakeNodeStore::Uncordon(const std::string& id_or_name) {
  MutexLock lock(database_.mutex);
  ASSAY_ASSIGN_OR_RETURN(NodeRow* const row, Find(id_or_name));
  row->shown.clear_cordon();
  return Status::Ok();
}

Status FakeNodeStore::Update(const v1::UpdateNodeRequest& request) {
  MutexLock lock(database_.mutex);
  ASSAY_ASSIGN_OR_RETURN(NodeRow* const row, Find(request.node()));
  v1::Node& node = row->shown;
  ASSAY_ASSIGN_OR_RETURN(*node.mutable_settings(),
                         NewSettings(request, node.description(), node.settings()));
  return Status::Ok();
}

Result<std::map<std::string, v1::NodeSettings>> FakeNodeStore::ListSettings() {
  MutexLock lock(database_.mutex);
  std::map<std::string, v1::NodeSettings> settings;
  for (const auto& [id, row] : database_.nodes) {
    if (row.shown.settings().ByteSizeLong() > 0) settings[id] = row.shown.settings();
  }
  return settings;
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
  ASSAY_ASSIGN_OR_RETURN(const NodeRow* row, Find(id_or_name));
  const v1::NodeDescription& node = row->shown.description();
  if (!Message(*row, Duration::max()).job_ids().empty()) {
    return FailedPrecondition("node \"" + node.name() + "\" runs a job", Reason::kNodeBusy);
  }
  database_.dial_addresses.erase(row->shown.dial_address());
  database_.nodes.erase(std::string(node.node_id()));
  return Status::Ok();
}

v1::Node FakeNodeStore::Message(const NodeRow& row, Duration stale_after) const {
  v1::Node message = row.shown;
  ApplySettings(row.shown.settings(), message.mutable_description());
  const bool heard = database_.clock.Now() - row.heard_at <= stale_after;
  message.set_state(heard && !row.owner.empty() ? v1::NODE_STATE_CONNECTED
                                                : v1::NODE_STATE_DISCONNECTED);
  for (const auto& [id, job] : database_.jobs) {
    if (job.shown.state() != v1::JOB_STATE_RUNNING) continue;
    const bool here = std::find(job.node_ids.begin(), job.node_ids.end(),
                                row.shown.description().node_id()) != job.node_ids.end();
    if (here) message.add_job_ids(id);
  }
  return message;
}

Result<FakeNodeStore::NodeRow*> FakeNodeStore::Find(const std::string& id_or_name) {
  const auto it = database_.nodes.find(id_or_name);
  if (it != database_.nodes.end()) return &it->second;
  std::vector<std::string> names;
  for (auto& [id, row] : database_.nodes) {
    names.push_back(row.shown.description().name());
    if (names.back() == id_or_name) return &row;
  }
  std::sort(names.begin(), names.end());
  return NoSuch("node", id_or_name, names);
}

FakeNodeStore::NodeRow* FakeNodeStore::Connected(const std::string& owner,
                                                 const std::string& node_id) {
  const auto it = database_.nodes.find(node_id);
  return it != database_.nodes.end() && it->second.owner == owner ? &it->second : nullptr;
}

}  // namespace assay::storage
