#include "coordinator/core/attempts/running_jobs.h"

#include <algorithm>
#include <utility>

namespace assay::coordinator {
namespace {

using storage::JobEpoch;
using storage::LeasedJob;

bool Lists(const std::vector<JobEpoch>& jobs, const std::string& job_id, int64_t epoch) {
  return std::any_of(jobs.begin(), jobs.end(), [&](const JobEpoch& job) {
    return job.job_id == job_id && job.epoch == epoch;
  });
}

}  // namespace

RunningJobs::Entry* RunningJobs::FindEntry(const JobEpoch& job) {
  const auto found = entries_.find(job.job_id);
  if (found == entries_.end() || found->second.job.epoch != job.epoch) return nullptr;
  return &found->second;
}

const RunningJobs::Entry* RunningJobs::FindEntry(const JobEpoch& job) const {
  const auto found = entries_.find(job.job_id);
  if (found == entries_.end() || found->second.job.epoch != job.epoch) return nullptr;
  return &found->second;
}

void RunningJobs::Add(LeasedJob job, bool adopted) {
  MutexLock lock(mutex_);
  const auto known = entries_.find(job.job.job_id);
  if (known != entries_.end()) {
    if (known->second.job.epoch > job.epoch) return;
    if (known->second.job.epoch == job.epoch) {
      known->second.job = std::move(job);
      known->second.renewed = clock_.Now();
      return;
    }
    Erase(known);
  }
  Entry entry;
  entry.start = clock_.Now();
  entry.renewed = entry.start;
  entry.adopted = adopted;
  if (job.node_ids.size() > 1) {
    entry.stage = adopted ? Stage::kAdopted : Stage::kPreparing;
    if (!adopted) entry.preparing_since = entry.start;
  }
  for (const std::string& node_id : job.node_ids) {
    Member& member = entry.members[node_id];
    member.assigned = entry.start;
    if (!adopted) member.last_seen = entry.start;
    jobs_of_node_[node_id].insert(job.job.job_id);
  }
  const std::string id = job.job.job_id;
  entry.job = std::move(job);
  entries_.emplace(id, std::move(entry));
}

std::optional<LeasedJob> RunningJobs::Find(const JobEpoch& job) const {
  MutexLock lock(mutex_);
  const Entry* entry = FindEntry(job);
  return entry == nullptr ? std::nullopt : std::optional(entry->job);
}

void RunningJobs::Remove(const JobEpoch& job) {
  MutexLock lock(mutex_);
  if (FindEntry(job) != nullptr) Erase(entries_.find(job.job_id));
}

void RunningJobs::Erase(Entries::iterator entry) {
  for (const auto& [node_id, member] : entry->second.members) {
    const auto jobs = jobs_of_node_.find(node_id);
    jobs->second.erase(entry->first);
    if (jobs->second.empty()) jobs_of_node_.erase(jobs);
  }
  entries_.erase(entry);
}

void RunningJobs::Clear() {
  MutexLock lock(mutex_);
  entries_.clear();
  jobs_of_node_.clear();
}

void RunningJobs::NoteAssigned(const JobEpoch& job, const std::string& node_id,
                               const std::string& agent_instance_id, const std::string& name) {
  MutexLock lock(mutex_);
  Entry* entry = FindEntry(job);
  if (entry == nullptr) return;
  const auto member = entry->members.find(node_id);
  if (member == entry->members.end()) return;
  member->second.assigned = clock_.Now();
  member->second.agent_instance_id = agent_instance_id;
  member->second.name = name;
}

std::string RunningJobs::NameOf(const JobEpoch& job, const std::string& node_id) const {
  MutexLock lock(mutex_);
  const Entry* entry = FindEntry(job);
  if (entry == nullptr) return node_id;
  const auto member = entry->members.find(node_id);
  if (member == entry->members.end() || member->second.name.empty()) return node_id;
  return member->second.name;
}

void RunningJobs::NoteReported(const std::string& node_id, const std::string& name,
                               const std::vector<JobEpoch>& jobs) {
  MutexLock lock(mutex_);
  for (const JobEpoch& job : jobs) {
    Entry* entry = FindEntry(job);
    if (entry == nullptr) continue;
    const auto member = entry->members.find(node_id);
    if (member == entry->members.end()) continue;
    member->second.reported = true;
    member->second.last_seen = clock_.Now();
    if (!name.empty()) member->second.name = name;
  }
}

void RunningJobs::NotePhases(const std::string& node_id, const v1::AgentState& state) {
  MutexLock lock(mutex_);
  for (const v1::RunningJob& job : state.running_jobs()) {
    Entry* entry = FindEntry({job.job_id(), job.epoch()});
    if (entry == nullptr) continue;
    const auto member = entry->members.find(node_id);
    if (member != entry->members.end()) member->second.phase = job.phase();
  }
}

std::string RunningJobs::PhaseOf(const JobEpoch& job) const {
  MutexLock lock(mutex_);
  const Entry* entry = FindEntry(job);
  return entry == nullptr ? "" : entry->members.at(entry->job.node_ids.front()).phase;
}

std::vector<Outbound> RunningJobs::NoteReady(const std::string& node_id,
                                             const v1::GangReady& ready) {
  MutexLock lock(mutex_);
  Entry* entry = FindEntry({ready.job_id(), ready.epoch()});
  if (entry == nullptr || entry->members.count(node_id) == 0) return {};
  Member& member = entry->members[node_id];
  if (!member.ready) member.ready = clock_.Now();
  // Rank 0 runs on the first node; a token from another node is ignored.
  const bool started = entry->stage == Stage::kStarted;
  if (node_id == entry->job.node_ids.front() && !started) {
    entry->rendezvous_token = ready.rendezvous_token();
  }
  if (!entry->preparing_since) entry->preparing_since = clock_.Now();
  const auto go = [&](const std::string& to) {
    Outbound outbound{to, {}};
    v1::GangGo* message = outbound.message.mutable_gang_go();
    message->set_job_id(ready.job_id());
    message->set_epoch(ready.epoch());
    message->set_rendezvous_token(entry->rendezvous_token);
    return outbound;
  };
  // Send GangGo again, because the first one may have been lost with the connection.
  if (started) return {go(node_id)};
  const bool all_ready = std::all_of(entry->members.begin(), entry->members.end(),
                                     [](const auto& one) { return one.second.ready.has_value(); });
  if (!all_ready) return {};
  entry->stage = Stage::kStarted;
  std::vector<Outbound> messages;
  for (const std::string& id : entry->job.node_ids) messages.push_back(go(id));
  return messages;
}

bool RunningJobs::NoteFinished(const JobEpoch& job, const std::string& node_id) {
  MutexLock lock(mutex_);
  Entry* entry = FindEntry(job);
  if (entry == nullptr) return false;
  const auto member = entry->members.find(node_id);
  if (member == entry->members.end()) return false;
  member->second.finished = true;
  return node_id == entry->job.node_ids.front();
}

void RunningJobs::NoteOutcome(const v1::CaseResult& result) {
  MutexLock lock(mutex_);
  Entry* entry = FindEntry({result.job_id(), result.epoch()});
  if (entry == nullptr) return;
  entry->outcomes.by_index[result.case_index()] = result.outcome();
  if (result.outcome() == v1::CASE_OUTCOME_FAILED && !entry->outcomes.first_failure) {
    entry->outcomes.first_failure = result.failure();
  }
}

CaseOutcomes RunningJobs::OutcomesOf(const JobEpoch& job) const {
  MutexLock lock(mutex_);
  const Entry* entry = FindEntry(job);
  return entry == nullptr ? CaseOutcomes() : entry->outcomes;
}

void RunningJobs::NoteFailure(const JobEpoch& job, const std::string& node_id,
                              v1::Failure failure) {
  MutexLock lock(mutex_);
  Entry* entry = FindEntry(job);
  if (entry == nullptr) return;
  const auto member = entry->members.find(node_id);
  if (member == entry->members.end()) return;
  member->second.finished = true;
  member->second.failure = std::move(failure);
  if (!entry->first_failure) entry->first_failure = clock_.Now();
}

std::vector<RunningJobs::NodeStatus> RunningJobs::NodesOf(const JobEpoch& job) const {
  MutexLock lock(mutex_);
  std::vector<NodeStatus> nodes;
  const Entry* entry = FindEntry(job);
  if (entry == nullptr) return nodes;
  for (const std::string& node_id : entry->job.node_ids) {
    const Member& member = entry->members.at(node_id);
    nodes.push_back({node_id, member.name.empty() ? node_id : member.name, member.last_seen,
                     member.failure, member.finished && !member.failure});
  }
  return nodes;
}

std::set<std::string> RunningJobs::FinishedNodes(const JobEpoch& job) const {
  MutexLock lock(mutex_);
  std::set<std::string> nodes;
  const Entry* entry = FindEntry(job);
  if (entry == nullptr) return nodes;
  for (const auto& [node_id, member] : entry->members) {
    if (member.finished) nodes.insert(node_id);
  }
  return nodes;
}

std::vector<LeasedJob> RunningJobs::FailedBefore(Duration age) const {
  MutexLock lock(mutex_);
  std::vector<LeasedJob> jobs;
  for (const auto& [job_id, entry] : entries_) {
    if (entry.first_failure && clock_.Now() - *entry.first_failure > age) jobs.push_back(entry.job);
  }
  return jobs;
}

std::optional<MonotonicTime> RunningJobs::StartOf(const JobEpoch& job) const {
  MutexLock lock(mutex_);
  const Entry* entry = FindEntry(job);
  return entry == nullptr ? std::nullopt : std::optional(entry->start);
}

bool RunningJobs::AllRenewedWithin(Duration age, const std::vector<JobEpoch>& jobs) const {
  MutexLock lock(mutex_);
  const MonotonicTime since = clock_.Now() - age;
  return std::all_of(jobs.begin(), jobs.end(), [&](const JobEpoch& job) ASSAY_REQUIRES(mutex_) {
    const Entry* entry = FindEntry(job);
    return entry != nullptr && entry->renewed > since;
  });
}

std::vector<RunningJobs::Missing> RunningJobs::MissingAt(const std::string& node_id,
                                                         const std::string& agent_instance_id,
                                                         const std::vector<JobEpoch>& reported,
                                                         Duration grace) const {
  MutexLock lock(mutex_);
  const MonotonicTime now = clock_.Now();
  std::vector<Missing> missing;
  const auto jobs = jobs_of_node_.find(node_id);
  if (jobs == jobs_of_node_.end()) return missing;
  for (const std::string& job_id : jobs->second) {
    const Entry& entry = entries_.at(job_id);
    const auto member = entry.members.find(node_id);
    if (member->second.finished) continue;
    if (Lists(reported, job_id, entry.job.epoch)) continue;
    if (now - member->second.assigned < grace) continue;
    // If an earlier coordinator process started this job, the agent may have finished its part
    // before this process started, in which case it does not have to list the job. The agent of
    // rank 0 must always list it, because the attempt is over once that agent has finished.
    const bool follower = node_id != entry.job.node_ids.front();
    if (entry.adopted && follower && !member->second.reported) continue;
    const bool restarted = !member->second.agent_instance_id.empty() && member->second.reported &&
                           member->second.agent_instance_id != agent_instance_id;
    const bool begun = entry.members.size() > 1 && entry.stage != Stage::kPreparing;
    const bool unheard = entry.adopted && !member->second.reported;
    missing.push_back({{job_id, entry.job.epoch}, restarted, begun, unheard});
  }
  return missing;
}

std::vector<RunningJobs::Lost> RunningJobs::LostSince(
    Duration lease, Duration absent,
    const std::function<bool(const std::string&)>& in_session) const {
  MutexLock lock(mutex_);
  const MonotonicTime now = clock_.Now();
  std::vector<Lost> lost;
  for (const auto& [job_id, entry] : entries_) {
    for (const auto& [node_id, member] : entry.members) {
      if (member.finished || !member.last_seen) continue;
      const Duration silence = now - *member.last_seen;
      const bool idle = entry.stage == Stage::kPreparing && silence > absent;
      if (silence <= lease && !(idle && !in_session(node_id))) continue;
      lost.push_back({entry.job, node_id, *member.last_seen});
      break;
    }
  }
  return lost;
}

bool RunningJobs::AwaitsHeard(const JobEpoch& job) const {
  MutexLock lock(mutex_);
  const Entry* entry = FindEntry(job);
  if (entry == nullptr) return false;
  return std::any_of(entry->members.begin(), entry->members.end(),
                     [](const auto& one) { return one.second.last_seen && !one.second.finished; });
}

std::optional<GangWait> RunningJobs::WaitOfEntry(const Entry& entry) const {
  if (entry.stage == Stage::kStarted || !entry.preparing_since) return std::nullopt;
  const MonotonicTime now = clock_.Now();
  GangWait wait;
  wait.job = entry.job;
  wait.waited = now - *entry.preparing_since;
  wait.adopted = entry.stage == Stage::kAdopted;
  for (const std::string& node_id : entry.job.node_ids) {
    const Member& member = entry.members.at(node_id);
    GangWait::Node& node = wait.nodes.emplace_back();
    node.node_id = node_id;
    node.name = member.name.empty() ? node_id : member.name;
    if (member.ready) node.ready = now - *member.ready;
    if (member.reported) node.spoke = now - *member.last_seen;
  }
  return wait;
}

std::vector<GangWait> RunningJobs::UnpreparedSince(Duration prepare) const {
  MutexLock lock(mutex_);
  std::vector<GangWait> unprepared;
  for (const auto& [job_id, entry] : entries_) {
    std::optional<GangWait> wait = WaitOfEntry(entry);
    if (wait && wait->waited > prepare) unprepared.push_back(*std::move(wait));
  }
  return unprepared;
}

std::optional<GangWait> RunningJobs::WaitOf(const JobEpoch& job) const {
  MutexLock lock(mutex_);
  const Entry* entry = FindEntry(job);
  return entry == nullptr ? std::nullopt : WaitOfEntry(*entry);
}

std::vector<LeasedJob> RunningJobs::OverdueSince(Duration slack) const {
  MutexLock lock(mutex_);
  const MonotonicTime now = clock_.Now();
  std::vector<LeasedJob> jobs;
  for (const auto& [job_id, entry] : entries_) {
    if (now - entry.start >= entry.job.job.timeout + slack) jobs.push_back(entry.job);
  }
  return jobs;
}

}  // namespace assay::coordinator
