#include "coordinator/core/sessions/sessions.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "common/text.h"
#include "storage/store_rules.h"
#include "wire/bytes.h"
#include "wire/durations.h"

namespace assay::coordinator {

namespace {

constexpr int kMostGpus = 64;
constexpr int kMostReasons = 16;
constexpr size_t kMostReasonBytes = 40;

bool IsReason(const std::string& text) {
  return !text.empty() && text.size() <= kMostReasonBytes && IsPlainText(text);
}

// Returns true if a field is absent (and thus 0), or if it is finite, plausible and at least 0.
bool IsSane(double value, double most = 1e18) { return value >= 0 && value <= most; }

// Returns true if `time` can be printed.
bool IsSane(const google::protobuf::Timestamp& time) {
  constexpr int64_t kEndOf9999 = 253'402'300'799;
  return time.seconds() >= 0 && time.seconds() <= kEndOf9999 && time.nanos() >= 0 &&
         time.nanos() < 1'000'000'000;
}

v1::GpuTelemetry Bounded(v1::GpuTelemetry gpu) {
  gpu.DiscardUnknownFields();
  if (!IsSane(gpu.last_xid_time())) gpu.clear_last_xid_time();
  // The condition is also false for NaN.
  if (!(gpu.temperature_celsius() > -300 && gpu.temperature_celsius() < 1000)) {
    gpu.clear_temperature_celsius();
  }
  constexpr double kMostWatts = 1e6;
  if (!IsSane(gpu.power_watts(), kMostWatts)) gpu.clear_power_watts();
  if (!IsSane(gpu.power_limit_watts(), kMostWatts)) gpu.clear_power_limit_watts();
  constexpr double kMostMhz = 1e6;
  if (!IsSane(gpu.sm_clock_mhz(), kMostMhz)) gpu.clear_sm_clock_mhz();
  if (!IsSane(gpu.memory_clock_mhz(), kMostMhz)) gpu.clear_memory_clock_mhz();
  if (!IsSane(gpu.utilization(), 1)) gpu.clear_utilization();
  if (!IsSane(gpu.energy_joules())) gpu.clear_energy_joules();
  if (gpu.memory_used_bytes() < 0) gpu.clear_memory_used_bytes();
  if (gpu.ecc_corrected() < 0) gpu.clear_ecc_corrected();
  if (gpu.ecc_uncorrected() < 0) gpu.clear_ecc_uncorrected();
  if (gpu.rows_remapped_correctable() < 0) gpu.clear_rows_remapped_correctable();
  if (gpu.rows_remapped_uncorrectable() < 0) gpu.clear_rows_remapped_uncorrectable();
  if (gpu.pcie_replays() < 0) gpu.clear_pcie_replays();
  if (gpu.nvlink_errors() < 0) gpu.clear_nvlink_errors();
  if (gpu.nvlinks_active() < 0) gpu.clear_nvlinks_active();
  // Remove repeated reasons, because they would become time series with equal labels.
  std::set<std::string> seen;
  auto& reasons = *gpu.mutable_throttle_reasons();
  reasons.erase(std::remove_if(reasons.begin(), reasons.end(),
                               [&](const std::string& reason) {
                                 return !IsReason(reason) || !seen.insert(reason).second;
                               }),
                reasons.end());
  while (reasons.size() > kMostReasons) reasons.RemoveLast();
  seen.clear();
  auto& times = *gpu.mutable_throttle_times();
  times.erase(std::remove_if(times.begin(), times.end(),
                             [&](const v1::ThrottleTime& time) {
                               return !IsReason(time.reason()) || !IsSane(time.seconds()) ||
                                      !seen.insert(time.reason()).second;
                             }),
              times.end());
  while (times.size() > kMostReasons) times.RemoveLast();
  return gpu;
}

}  // namespace

std::vector<v1::GpuTelemetry> BoundedTelemetry(
    const google::protobuf::RepeatedPtrField<v1::GpuTelemetry>& sent) {
  std::map<int, v1::GpuTelemetry> by_index;
  for (const v1::GpuTelemetry& gpu : sent) {
    if (by_index.size() == kMostGpus) break;
    if (gpu.index() >= 0) by_index.try_emplace(gpu.index(), Bounded(gpu));
  }
  std::vector<v1::GpuTelemetry> gpus;
  gpus.reserve(by_index.size());
  for (auto& [index, gpu] : by_index) gpus.push_back(std::move(gpu));
  return gpus;
}

Status Sessions::CheckReplacement(const Agent& agent, const std::string& peer_address,
                                  Duration lately) const {
  MutexLock lock(mutex_);
  const auto found = entries_.find(agent.node_id);
  if (found == entries_.end()) return Status::Ok();
  const Entry& present = found->second;
  if (present.agent.key_hash != agent.key_hash) {
    return Status(Code::kPermissionDenied, Reason::kNotPermitted,
                  "node " + present.agent.name + " has a session with another key")
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
    entry.agent.description = Effective(agent.node_id, agent.own_description);
    entry.leaving = false;
    entry.heard = clock_.Now();
    entry.telemetry = nullptr;
    entry.spool_depth.reset();
    entry.running_job_ids.clear();
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
                              std::shared_ptr<const v1::NodeDescription> own) {
  MutexLock lock(mutex_);
  const auto found = entries_.find(node_id);
  if (found == entries_.end() || found->second.sink.get() != sink) return;
  Agent& agent = found->second.agent;
  agent.own_description = std::move(own);
  agent.description = Effective(node_id, agent.own_description);
}

void Sessions::SetSettings(Settings settings) {
  MutexLock lock(mutex_);
  std::set<std::string> changed;
  for (const auto& [node_id, now] : settings) {
    const auto before = settings_.find(node_id);
    const bool same = before != settings_.end() &&
                      schema::DeterministicBytes(before->second) == schema::DeterministicBytes(now);
    if (!same) changed.insert(node_id);
  }
  for (const auto& [node_id, before] : settings_) {
    if (!settings.contains(node_id)) changed.insert(node_id);
  }
  settings_ = std::move(settings);
  for (const std::string& node_id : changed) {
    const auto entry = entries_.find(node_id);
    if (entry == entries_.end()) continue;
    Agent& agent = entry->second.agent;
    agent.description = Effective(node_id, agent.own_description);
  }
}

std::shared_ptr<const v1::NodeDescription> Sessions::Effective(
    const std::string& node_id, const std::shared_ptr<const v1::NodeDescription>& own) const {
  const auto found = settings_.find(node_id);
  if (found == settings_.end()) return own;
  auto effective = std::make_shared<v1::NodeDescription>(*own);
  storage::ApplySettings(found->second, effective.get());
  return effective;
}

void Sessions::SetState(const std::string& node_id, const SessionSink* sink,
                        const v1::AgentState& state) {
  Telemetry kept;
  if (!state.gpus().empty()) {
    kept = std::make_shared<const std::vector<v1::GpuTelemetry>>(BoundedTelemetry(state.gpus()));
  }
  MutexLock lock(mutex_);
  const auto found = entries_.find(node_id);
  if (found == entries_.end() || found->second.sink.get() != sink) return;
  found->second.spool_depth = std::max<int64_t>(state.spool_depth(), 0);
  found->second.running_job_ids.clear();
  for (const v1::RunningJob& job : state.running_jobs()) {
    found->second.running_job_ids.push_back(job.job_id());
  }
  if (!kept) return;
  found->second.telemetry = std::move(kept);
  found->second.telemetry_time = clock_.Now();
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

Telemetry Sessions::Recent(const Entry& entry, Duration lately) const {
  return clock_.Now() - entry.telemetry_time < lately ? entry.telemetry : nullptr;
}

Telemetry Sessions::FindTelemetry(const std::string& node_id, Duration lately) const {
  MutexLock lock(mutex_);
  const auto found = entries_.find(node_id);
  return found == entries_.end() ? nullptr : Recent(found->second, lately);
}

std::vector<std::string> Sessions::RunningJobIds(const std::string& node_id) const {
  MutexLock lock(mutex_);
  const auto found = entries_.find(node_id);
  return found == entries_.end() ? std::vector<std::string>() : found->second.running_job_ids;
}

std::vector<SessionState> Sessions::List(Duration lately) const {
  MutexLock lock(mutex_);
  const MonotonicTime now = clock_.Now();
  const WallTime wall_now = clock_.WallNow();
  std::vector<SessionState> all;
  all.reserve(entries_.size());
  for (const auto& [node_id, entry] : entries_) {
    all.push_back({entry.agent.description, wall_now - (now - entry.heard), Recent(entry, lately),
                   entry.spool_depth, entry.agent.clock_offset_seconds});
  }
  return all;
}

size_t Sessions::count() const {
  MutexLock lock(mutex_);
  return entries_.size();
}

}  // namespace assay::coordinator
