#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "storage/fakes/fake_stores.h"
#include "storage/placement.h"
#include "storage/store_rules.h"
#include "wire/timestamps.h"

namespace assay::storage {
namespace {

using JobRow = FakeDatabase::JobRow;

bool IsQueued(const JobRow& row) { return row.shown.state() == v1::JOB_STATE_QUEUED; }
bool IsRunning(const JobRow& row) { return row.shown.state() == v1::JOB_STATE_RUNNING; }

Status NoCampaign(const std::string& id) { return NotFound("no campaign \"" + id + "\""); }

// Returns true if the two jobs must not run on the same node at the same time.
bool Conflict(const NewJob& a, const NewJob& b) {
  if (HoldsWholeNodes(a) || HoldsWholeNodes(b)) return true;
  return std::find_first_of(a.gpu_indices.begin(), a.gpu_indices.end(), b.gpu_indices.begin(),
                            b.gpu_indices.end()) != a.gpu_indices.end();
}

}  // namespace

Result<std::string> FakeDatabase::Insert(const NewCampaign& campaign) {
  if (campaign.jobs.empty()) return InvalidArgument("a campaign needs at least one job");
  for (const auto& [id, row] : campaigns) {
    if (row.request_id == campaign.request_id) return id;
  }
  if (campaigns.contains(campaign.campaign_id)) {
    return Status(Code::kAlreadyExists, Reason::kCampaignExists,
                  "campaign " + campaign.campaign_id + " exists already");
  }
  CampaignRow& row = campaigns[campaign.campaign_id];
  row.request_id = campaign.request_id;
  row.sequence = next_sequence++;
  row.shown.set_campaign_id(campaign.campaign_id);
  row.shown.set_name(campaign.spec.name());
  row.shown.set_state(v1::CAMPAIGN_STATE_ACTIVE);
  row.shown.set_priority(campaign.spec.priority());
  *row.shown.mutable_spec() = campaign.spec;
  MoveOutOfSpec(&row.shown);
  *row.shown.mutable_create_time() = schema::ToTimestamp(clock.WallNow());
  for (const NewJob& job : campaign.jobs) AddJob(row, job);
  return campaign.campaign_id;
}

void FakeDatabase::AddJob(CampaignRow& campaign, const NewJob& job) {
  JobRow& made = jobs[job.job_id];
  made.job = job;
  made.campaign_id = campaign.shown.campaign_id();
  made.retries = campaign.shown.spec().retries();
  made.sequence = next_sequence++;
  made.revision = next_sequence++;
  made.queued_at = clock.Now();
  v1::Job& shown = made.shown;
  shown.set_job_id(job.job_id);
  shown.set_campaign_id(made.campaign_id);
  shown.set_state(v1::JOB_STATE_QUEUED);
  shown.set_benchmark(job.benchmark);
  if (job.benchmark_index) shown.set_benchmark_index(*job.benchmark_index);
  shown.set_repetition(job.repetition);
  shown.set_case_count(static_cast<int>(job.cases.size()));
  shown.set_world_size(job.world_size);
  shown.mutable_gpu_indices()->Add(job.gpu_indices.begin(), job.gpu_indices.end());
  *shown.mutable_create_time() = schema::ToTimestamp(clock.WallNow());
  campaign.job_ids.push_back(job.job_id);
}

Result<v1::Campaign> FakeJobStore::CreateCampaign(const NewCampaign& campaign) {
  MutexLock lock(database_.mutex);
  ASSAY_ASSIGN_OR_RETURN(const std::string id, database_.Insert(campaign));
  return CampaignMessage(database_.campaigns.at(id));
}

Result<v1::Campaign> FakeJobStore::GetCampaign(const std::string& id_or_name) {
  MutexLock lock(database_.mutex);
  const auto by_id = database_.campaigns.find(id_or_name);
  if (by_id != database_.campaigns.end()) return CampaignMessage(by_id->second);
  std::map<int64_t, const CampaignRow*, std::greater<>> newest_first;
  for (const auto& [id, row] : database_.campaigns) newest_first[row.sequence] = &row;
  std::vector<std::string> names;
  for (const auto& [sequence, row] : newest_first) {
    if (row->shown.name() == id_or_name) return CampaignMessage(*row);
    if (names.size() < kOfferedCampaigns) names.push_back(row->shown.name());
  }
  return NoSuch("campaign", id_or_name, names);
}

Result<Page<v1::Campaign>> FakeJobStore::ListCampaigns(const PageRequest& request) {
  ASSAY_ASSIGN_OR_RETURN(const int64_t before, ParsePageToken('c', request.token, INT64_MAX));
  MutexLock lock(database_.mutex);
  std::map<int64_t, const CampaignRow*, std::greater<>> newest_first;
  for (const auto& [id, row] : database_.campaigns) {
    if (row.sequence < before) newest_first[row.sequence] = &row;
  }
  PageFiller<v1::Campaign> page('c', request);
  for (const auto& [sequence, row] : newest_first) {
    v1::Campaign campaign = CampaignMessage(*row);
    campaign.clear_spec();
    if (!page.Add(std::move(campaign), sequence)) break;
  }
  return std::move(page).Take();
}

Result<std::vector<v1::Campaign>> FakeJobStore::ListActiveCampaigns(int limit) {
  MutexLock lock(database_.mutex);
  std::map<int64_t, const CampaignRow*, std::greater<>> newest_first;
  for (const auto& [id, row] : database_.campaigns) {
    if (row.shown.state() == v1::CAMPAIGN_STATE_ACTIVE) newest_first[row.sequence] = &row;
  }
  std::vector<v1::Campaign> campaigns;
  for (const auto& [sequence, row] : newest_first) {
    if (static_cast<int>(campaigns.size()) == limit) break;
    campaigns.push_back(CampaignMessage(*row));
    campaigns.back().clear_spec();
  }
  return campaigns;
}

Result<Page<v1::Job>> FakeJobStore::ListJobs(const std::string& campaign_id,
                                             const PageRequest& request) {
  ASSAY_ASSIGN_OR_RETURN(const int64_t after, ParsePageToken('j', request.token, 0));
  MutexLock lock(database_.mutex);
  ASSAY_ASSIGN_OR_RETURN(const std::vector<JobRow*> jobs, JobsOf(campaign_id));
  PageFiller<v1::Job> page('j', request);
  for (const JobRow* row : jobs) {
    if (row->sequence > after && !page.Add(JobMessage(*row), row->sequence)) break;
  }
  return std::move(page).Take();
}

Result<JobStore::JobChanges> FakeJobStore::ListJobChanges(const std::string& campaign_id,
                                                          int64_t revision) {
  MutexLock lock(database_.mutex);
  ASSAY_ASSIGN_OR_RETURN(const std::vector<JobRow*> jobs, JobsOf(campaign_id));
  JobChanges changes;
  changes.revision = revision;
  for (const JobRow* row : jobs) {
    if (row->revision <= revision) continue;
    changes.jobs.push_back(JobMessage(*row));
    changes.revision = std::max(changes.revision, row->revision);
  }
  return changes;
}

Result<std::vector<v1::WaitingJobs>> FakeJobStore::ListWaiting(const std::string& campaign_id,
                                                               const Silence& silence) {
  MutexLock lock(database_.mutex);
  WaitingList list;
  for (const auto& [id, row] : database_.jobs) {
    if (row.campaign_id != campaign_id || !IsQueued(row)) continue;
    std::vector<v1::AbsentNode> absent;
    for (const std::string& node_id : row.job.candidate_node_ids) {
      const auto node = database_.nodes.find(node_id);
      v1::AbsentNode away;
      away.set_node_id(node_id);
      away.set_name(node_id);
      if (node != database_.nodes.end()) {
        const Duration silent = database_.clock.Now() - node->second.heard_at;
        const bool in_session = !node->second.owner.empty();
        const std::string& quarantine = node->second.shown.quarantine();
        const bool there = silent <= (in_session ? silence.stale : silence.grace);
        const bool cordoned = node->second.shown.has_cordon();
        if (there && quarantine.empty() && !cordoned) continue;
        away.set_quarantine(quarantine);
        if (cordoned) *away.mutable_cordon() = node->second.shown.cordon();
        away.set_name(node->second.shown.description().name());
        *away.mutable_last_heartbeat_time() = node->second.shown.last_heartbeat_time();
      }
      absent.push_back(std::move(away));
    }
    const int there = static_cast<int>(row.job.candidate_node_ids.size() - absent.size());
    if (there < row.job.node_count) list.Add(1, row.job.node_count - there, std::move(absent));
  }
  return std::move(list).Take();
}

Result<std::vector<JobEpoch>> FakeJobStore::CancelCampaign(const std::string& campaign_id) {
  MutexLock lock(database_.mutex);
  ASSAY_ASSIGN_OR_RETURN(const std::vector<JobRow*> jobs, JobsOf(campaign_id));
  CampaignRow& campaign = database_.campaigns.at(campaign_id);
  std::vector<JobEpoch> running;
  if (campaign.shown.state() != v1::CAMPAIGN_STATE_ACTIVE) return running;
  campaign.cancel_requested = true;
  for (JobRow* row : jobs) {
    if (!IsQueued(*row) && !IsRunning(*row)) continue;
    row->cancel_requested = true;
    Touch(*row);
    if (IsRunning(*row)) {
      running.push_back({row->job.job_id, row->epoch});
    } else {
      row->shown.set_state(v1::JOB_STATE_CANCELLED);
      *row->shown.mutable_end_time() = schema::ToTimestamp(database_.clock.WallNow());
    }
  }
  EndIfDone(campaign_id);
  return running;
}

Result<std::vector<LeasedJob>> FakeJobStore::ClaimJobs(const ClaimRequest& request) {
  MutexLock lock(database_.mutex);
  if (!database_.IsTerm(request.term)) return std::vector<LeasedJob>();
  const MonotonicTime now = database_.clock.Now();
  std::map<std::string, int> running;  // Jobs by campaign.
  std::vector<JobRow*> queued;
  // Running jobs, and copies of waiting jobs for which nodes are reserved.
  std::vector<LeasedJob> holders;
  for (auto& [id, row] : database_.jobs) {
    if (IsRunning(row)) {
      ++running[row.campaign_id];
      holders.push_back(row);
    }
    const bool paused = database_.campaigns.at(row.campaign_id).shown.has_pause_time();
    if (IsQueued(row) && row.not_before <= now && !paused) queued.push_back(&row);
  }
  const auto is_known = [&](const std::string& node) {
    const auto known = database_.nodes.find(node);
    return known != database_.nodes.end() && known->second.shown.quarantine().empty() &&
           !known->second.shown.has_cordon() &&
           std::find(request.node_ids.begin(), request.node_ids.end(), node) !=
               request.node_ids.end();
  };
  const auto rank = [&](const JobRow* row) {
    const int priority = database_.campaigns.at(row->campaign_id).shown.priority();
    return std::tuple(-priority, running[row->campaign_id], row->sequence);
  };
  std::vector<LeasedJob> leased;
  while (!queued.empty() && static_cast<int>(leased.size()) < request.limit) {
    const auto best =
        std::min_element(queued.begin(), queued.end(),
                         [&](const JobRow* a, const JobRow* b) { return rank(a) < rank(b); });
    JobRow& row = **best;
    queued.erase(best);
    const Preference preference = {row.avoid_node_ids,
                                   row.same_nodes ? row.node_ids : std::vector<std::string>()};
    std::set<std::string> held;
    for (const LeasedJob& other : holders) {
      if (Conflict(row.job, other.job)) held.insert(other.node_ids.begin(), other.node_ids.end());
    }
    const auto is_free = [&](const std::string& node) { return !held.contains(node); };
    if (auto nodes = ChooseNodes(row.job, preference, is_known, is_free)) {
      row.shown.set_state(v1::JOB_STATE_RUNNING);
      row.shown.set_attempts(row.shown.attempts() + 1);
      row.start_time = database_.clock.WallNow();
      *row.shown.mutable_start_time() = schema::ToTimestamp(row.start_time);
      row.node_ids = *std::move(nodes);
      row.owner = request.owner;
      row.lease_until = now + request.lease;
      ++row.epoch;
      ++running[row.campaign_id];
      Touch(row);
      holders.push_back(row);
      leased.push_back(row);
    } else if (std::max(row.queued_at, row.not_before) + request.patience <= now) {
      auto reserved = NodesToReserve(row.job, preference, is_known, is_free);
      if (reserved) holders.emplace_back(row).node_ids = *std::move(reserved);
    }
  }
  return leased;
}

Result<std::vector<LeasedJob>> FakeJobStore::RenewLeases(const std::string& owner, Duration lease,
                                                         const std::vector<ReportedJob>& jobs) {
  MutexLock lock(database_.mutex);
  std::vector<LeasedJob> held;
  std::set<JobEpoch> renewed;
  for (const ReportedJob& reported : jobs) {
    JobRow* const row = Running(reported.job);
    if (row == nullptr) continue;
    const auto& nodes = row->node_ids;
    if (std::find(nodes.begin(), nodes.end(), reported.node_id) == nodes.end()) continue;
    if (!renewed.insert(reported.job).second) continue;
    row->owner = owner;
    row->lease_until = database_.clock.Now() + lease;
    held.push_back(*row);
  }
  return held;
}

Result<std::optional<LeasedJob>> FakeJobStore::GetAttempt(const ReportedJob& attempt) {
  MutexLock lock(database_.mutex);
  const JobRow* const row = Latest(attempt.job);
  if (row == nullptr) return std::optional<LeasedJob>();
  const auto& nodes = row->node_ids;
  if (std::find(nodes.begin(), nodes.end(), attempt.node_id) == nodes.end()) {
    return std::optional<LeasedJob>();
  }
  LeasedJob job = *row;
  job.state = row->shown.state();
  return std::optional<LeasedJob>(std::move(job));
}

Result<std::vector<LeasedJob>> FakeJobStore::ListExpired(Duration ago, int limit) {
  MutexLock lock(database_.mutex);
  std::map<std::pair<MonotonicTime, int64_t>, const JobRow*> expired;
  for (const auto& [id, row] : database_.jobs) {
    if (!IsRunning(row) || row.lease_until + ago > database_.clock.Now()) continue;
    expired[{row.lease_until, row.sequence}] = &row;
  }
  std::vector<LeasedJob> leased;
  for (const auto& [key, row] : expired) {
    if (static_cast<int>(leased.size()) == limit) break;
    leased.push_back(*row);
  }
  return leased;
}

Result<std::vector<JobStore::DrainedJob>> FakeJobStore::ListDrained(int limit) {
  MutexLock lock(database_.mutex);
  const WallTime now = database_.clock.WallNow();
  std::vector<DrainedJob> drained;
  for (const auto& [id, row] : database_.jobs) {
    if (!IsRunning(row) || static_cast<int>(drained.size()) == limit) continue;
    std::vector<std::string> names;
    for (const std::string& node_id : row.node_ids) {
      const auto node = database_.nodes.find(node_id);
      if (node == database_.nodes.end()) continue;
      const v1::Node& shown = node->second.shown;
      if (!shown.cordon().has_drain_deadline()) continue;
      if (schema::FromTimestamp(shown.cordon().drain_deadline()) > now) continue;
      names.push_back(shown.description().name());
    }
    if (names.empty()) continue;
    std::sort(names.begin(), names.end());
    drained.push_back({row, std::move(names)});
  }
  return drained;
}

Result<std::vector<std::string>> FakeJobStore::ListUnjudged() {
  MutexLock lock(database_.mutex);
  std::vector<std::string> ids;
  for (const auto& [id, row] : database_.campaigns) {
    if (row.shown.state() != v1::CAMPAIGN_STATE_ACTIVE &&
        row.shown.verdict() == v1::VERDICT_UNSPECIFIED) {
      ids.push_back(id);
    }
  }
  return ids;
}

Status FakeJobStore::SetVerdict(const std::string& campaign_id, v1::Verdict verdict,
                                const std::vector<v1::RuleVerdict>& rules) {
  MutexLock lock(database_.mutex);
  const auto it = database_.campaigns.find(campaign_id);
  if (it == database_.campaigns.end()) return NoCampaign(campaign_id);
  v1::Campaign& shown = it->second.shown;
  if (shown.verdict() != v1::VERDICT_UNSPECIFIED || shown.state() == v1::CAMPAIGN_STATE_ACTIVE) {
    return Status::Ok();
  }
  shown.set_verdict(verdict);
  shown.mutable_rules()->Assign(rules.begin(), rules.end());
  return Status::Ok();
}

Result<JobStore::QueueStats> FakeJobStore::GetQueueStats() {
  MutexLock lock(database_.mutex);
  QueueStats stats;
  for (const auto& [id, row] : database_.jobs) {
    if (IsQueued(row) && database_.campaigns.at(row.campaign_id).shown.has_pause_time()) {
      ++stats.paused;
      continue;
    }
    AddToCounts(row.shown.state(), 1, &stats.counts);
    if (!IsQueued(row)) continue;
    const WallTime created = schema::FromTimestamp(row.shown.create_time());
    stats.oldest_queued = std::min(stats.oldest_queued.value_or(created), created);
  }
  for (const auto& [id, row] : database_.campaigns) {
    if (row.shown.state() != v1::CAMPAIGN_STATE_ACTIVE) continue;
    ++(row.shown.has_pause_time() ? stats.paused_campaigns : stats.active_campaigns);
  }
  return stats;
}

Result<std::vector<JobRow*>> FakeJobStore::JobsOf(const std::string& campaign_id) {
  const auto campaign = database_.campaigns.find(campaign_id);
  if (campaign == database_.campaigns.end()) return NoCampaign(campaign_id);
  std::vector<JobRow*> jobs;
  for (const std::string& id : campaign->second.job_ids) jobs.push_back(&database_.jobs.at(id));
  return jobs;
}

v1::Campaign FakeJobStore::CampaignMessage(const CampaignRow& row) const {
  v1::Campaign message = row.shown;
  for (const std::string& job_id : row.job_ids) {
    const JobRow& job = database_.jobs.at(job_id);
    AddToCounts(job.shown.state(), 1, message.mutable_jobs());
    message.set_case_count(message.case_count() + job.shown.case_count());
    message.set_cases_done(message.cases_done() + static_cast<int>(job.done_cases.size()));
  }
  return message;
}

v1::Job FakeJobStore::JobMessage(const JobRow& row) const {
  v1::Job message = row.shown;
  message.set_epoch(row.epoch);
  message.set_cases_done(static_cast<int>(row.done_cases.size()));
  const bool placed = !IsQueued(row) && !row.node_ids.empty();
  const NodeIds::List& nodes =
      placed ? row.node_ids : static_cast<const NodeIds::List&>(row.job.candidate_node_ids);
  const size_t most = placed || !HasChoice(row.job) ? nodes.size() : kNamedCandidates;
  const size_t named = std::min(nodes.size(), most);
  message.set_more_node_count(static_cast<int>(nodes.size() - named));
  for (size_t i = 0; i < named; ++i) {
    const auto node = database_.nodes.find(nodes[i]);
    const bool known = node != database_.nodes.end();
    message.add_node_names(known ? node->second.shown.description().name() : nodes[i]);
  }
  return message;
}

JobRow* FakeJobStore::Latest(const JobEpoch& job) {
  const auto it = database_.jobs.find(job.job_id);
  return it != database_.jobs.end() && it->second.epoch == job.epoch ? &it->second : nullptr;
}

JobRow* FakeJobStore::Running(const JobEpoch& job) {
  JobRow* const row = Latest(job);
  return row != nullptr && IsRunning(*row) ? row : nullptr;
}

void FakeJobStore::Touch(JobRow& row) { row.revision = database_.next_sequence++; }

bool FakeJobStore::EndIfDone(const std::string& campaign_id) {
  CampaignRow& campaign = database_.campaigns.at(campaign_id);
  if (campaign.shown.state() != v1::CAMPAIGN_STATE_ACTIVE) return false;
  for (const std::string& id : campaign.job_ids) {
    const JobRow& row = database_.jobs.at(id);
    if (IsQueued(row) || IsRunning(row)) return false;
  }
  campaign.shown.clear_pause_time();
  campaign.shown.set_state(campaign.cancel_requested ? v1::CAMPAIGN_STATE_CANCELLED
                                                     : v1::CAMPAIGN_STATE_COMPLETED);
  *campaign.shown.mutable_end_time() = schema::ToTimestamp(database_.clock.WallNow());
  return true;
}

}  // namespace assay::storage
