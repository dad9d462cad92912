#include "storage/fakes/fake_job_store.h"

#include <algorithm>
#include <utility>

#include "model/page.h"
#include "storage/no_such.h"
#include "storage/state_after.h"
#include "storage/waiting_list.h"
#include "wire/timestamps.h"

namespace assay::storage {
namespace {

bool IsOpen(v1::JobState state) {
  return state == v1::JOB_STATE_QUEUED || state == v1::JOB_STATE_RUNNING;
}

void Count(v1::JobState state, v1::JobCounts* counts) {
  switch (state) {
    case v1::JOB_STATE_QUEUED:
      return counts->set_queued(counts->queued() + 1);
    case v1::JOB_STATE_RUNNING:
      return counts->set_running(counts->running() + 1);
    case v1::JOB_STATE_SUCCEEDED:
      return counts->set_succeeded(counts->succeeded() + 1);
    case v1::JOB_STATE_FAILED:
      return counts->set_failed(counts->failed() + 1);
    case v1::JOB_STATE_CANCELLED:
      return counts->set_cancelled(counts->cancelled() + 1);
    case v1::JOB_STATE_SKIPPED:
      return counts->set_skipped(counts->skipped() + 1);
    default:
      return;
  }
}

Status NoCampaign(const std::string& id) { return NotFound("no campaign \"" + id + "\""); }

}  // namespace

Result<v1::Campaign> FakeJobStore::CreateCampaign(const NewCampaign& campaign) {
  if (campaign.jobs.empty()) return InvalidArgument("a campaign needs at least one job");
  {
    MutexLock lock(database_.mutex);
    for (const auto& [id, row] : database_.campaigns) {
      if (row.request_id == campaign.request_id) return CampaignMessage(id, row);
    }
    if (database_.campaigns.contains(campaign.campaign_id)) {
      return Status(Code::kAlreadyExists, Reason::kCampaignExists,
                    "campaign " + campaign.campaign_id + " exists already");
    }
    CampaignRow& row = database_.campaigns[campaign.campaign_id];
    row.request_id = campaign.request_id;
    row.sequence = database_.next_sequence++;
    row.spec = campaign.spec;
    row.create_time = database_.clock.WallNow();
    for (const NewJob& job : campaign.jobs) {
      JobRow& made = database_.jobs[job.job_id];
      made.job = job;
      made.campaign_id = campaign.campaign_id;
      made.sequence = database_.next_sequence++;
      made.create_time = row.create_time;
      made.queued_at = database_.clock.Now();
      Touch(made);
      row.job_ids.push_back(job.job_id);
    }
  }
  if (on_jobs_queued_) on_jobs_queued_();
  return GetCampaign(campaign.campaign_id);
}

Result<v1::Campaign> FakeJobStore::GetCampaign(const std::string& id_or_name) {
  MutexLock lock(database_.mutex);
  const auto by_id = database_.campaigns.find(id_or_name);
  if (by_id != database_.campaigns.end()) return CampaignMessage(by_id->first, by_id->second);
  const std::pair<const std::string, CampaignRow>* newest = nullptr;
  for (const auto& entry : database_.campaigns) {
    if (entry.second.spec.name() != id_or_name) continue;
    if (newest == nullptr || entry.second.sequence > newest->second.sequence) newest = &entry;
  }
  if (newest == nullptr) return NoSuch("campaign", id_or_name, NewestNames());
  return CampaignMessage(newest->first, newest->second);
}

std::vector<std::string> FakeJobStore::NewestNames() const {
  std::map<int64_t, std::string, std::greater<>> newest_first;
  for (const auto& [id, row] : database_.campaigns) newest_first[row.sequence] = row.spec.name();
  std::vector<std::string> names;
  for (const auto& [sequence, name] : newest_first) {
    if (names.size() == kOfferedCampaigns) break;
    names.push_back(name);
  }
  return names;
}

Result<Page<v1::Campaign>> FakeJobStore::ListCampaigns(const PageRequest& request) {
  ASSAY_ASSIGN_OR_RETURN(const int64_t before, ParsePageToken('c', request.token, INT64_MAX));
  MutexLock lock(database_.mutex);
  std::map<int64_t, std::string, std::greater<>> newest_first;
  for (const auto& [id, row] : database_.campaigns) {
    if (row.sequence < before) newest_first[row.sequence] = id;
  }
  PageFiller<v1::Campaign> page('c', request);
  for (const auto& [sequence, id] : newest_first) {
    v1::Campaign campaign = CampaignMessage(id, database_.campaigns.at(id));
    campaign.clear_spec();
    if (!page.Add(std::move(campaign), sequence)) break;
  }
  return std::move(page).Take();
}

Result<Page<v1::Job>> FakeJobStore::ListJobs(const std::string& campaign_id,
                                             const PageRequest& request) {
  ASSAY_ASSIGN_OR_RETURN(const int64_t after, ParsePageToken('j', request.token, 0));
  MutexLock lock(database_.mutex);
  const auto campaign = database_.campaigns.find(campaign_id);
  if (campaign == database_.campaigns.end()) return NoCampaign(campaign_id);
  PageFiller<v1::Job> page('j', request);
  for (const std::string& id : campaign->second.job_ids) {
    const JobRow& row = database_.jobs.at(id);
    if (row.sequence > after && !page.Add(JobMessage(row), row.sequence)) break;
  }
  return std::move(page).Take();
}

Result<JobStore::JobChanges> FakeJobStore::ListJobChanges(const std::string& campaign_id,
                                                          int64_t revision) {
  MutexLock lock(database_.mutex);
  const auto campaign = database_.campaigns.find(campaign_id);
  if (campaign == database_.campaigns.end()) return NoCampaign(campaign_id);
  JobChanges changes;
  changes.revision = revision;
  for (const std::string& id : campaign->second.job_ids) {
    const JobRow& row = database_.jobs.at(id);
    if (row.revision <= revision) continue;
    changes.jobs.push_back(JobMessage(row));
    changes.revision = std::max(changes.revision, row.revision);
  }
  return changes;
}

Result<std::vector<JobEpoch>> FakeJobStore::CancelCampaign(const std::string& campaign_id) {
  MutexLock lock(database_.mutex);
  const auto campaign = database_.campaigns.find(campaign_id);
  if (campaign == database_.campaigns.end()) return NoCampaign(campaign_id);
  std::vector<JobEpoch> running;
  if (campaign->second.state != v1::CAMPAIGN_STATE_ACTIVE) return running;
  campaign->second.cancel_requested = true;
  for (const std::string& id : campaign->second.job_ids) {
    JobRow& row = database_.jobs.at(id);
    if (row.state == v1::JOB_STATE_QUEUED) {
      row.state = v1::JOB_STATE_CANCELLED;
      row.end_time = database_.clock.WallNow();
      Touch(row);
    } else if (row.state == v1::JOB_STATE_RUNNING) {
      row.cancel_requested = true;
      Touch(row);
      running.push_back({id, row.epoch});
    }
  }
  EndIfDone(campaign_id);
  return running;
}

Result<std::vector<v1::WaitingJobs>> FakeJobStore::ListWaiting(const std::string& campaign_id,
                                                               const Silence& silence) {
  MutexLock lock(database_.mutex);
  WaitingList list;
  for (const auto& [id, row] : database_.jobs) {
    if (row.campaign_id != campaign_id || row.state != v1::JOB_STATE_QUEUED) continue;
    std::vector<v1::AbsentNode> absent;
    for (const std::string& node_id : row.job.candidate_node_ids) {
      const auto node = database_.nodes.find(node_id);
      v1::AbsentNode away;
      away.set_node_id(node_id);
      away.set_name(node_id);
      if (node != database_.nodes.end()) {
        const Duration silent = database_.clock.Now() - node->second.heard_at;
        const bool in_session = !node->second.owner.empty();
        if (silent <= (in_session ? silence.stale : silence.grace)) continue;
        away.set_name(node->second.description.name());
        *away.mutable_last_heartbeat_time() = schema::ToTimestamp(node->second.last_heartbeat);
      }
      absent.push_back(std::move(away));
    }
    const int there = static_cast<int>(row.job.candidate_node_ids.size() - absent.size());
    if (there < row.job.node_count) list.Add(1, row.job.node_count - there, std::move(absent));
  }
  return std::move(list).Take();
}

Result<FinishOutcome> FakeJobStore::FinishAttempt(const FinishedAttempt& attempt) {
  FinishOutcome outcome;
  bool queued = false;
  {
    MutexLock lock(database_.mutex);
    const auto it = database_.jobs.find(attempt.job.job_id);
    if (it == database_.jobs.end()) return outcome;
    JobRow& row = it->second;
    if (row.state != v1::JOB_STATE_RUNNING || row.epoch != attempt.job.epoch) return outcome;
    outcome.held = true;
    outcome.campaign_id = row.campaign_id;
    if (attempt.failure) {
      row.failures.push_back({attempt.failure->failure_class(), attempt.failure->reason(),
                              row.node_ids, attempt.failure->node_id(), attempt.also_node_ids});
    }
    if (attempt.disposition != Disposition::kSucceeded) row.failure = attempt.failure;
    const bool requeue = attempt.disposition == Disposition::kRequeue;
    row.state =
        requeue && row.cancel_requested ? v1::JOB_STATE_CANCELLED : StateAfter(attempt.disposition);
    row.owner.clear();
    queued = row.state == v1::JOB_STATE_QUEUED;
    if (queued) {
      row.avoid_node_ids = attempt.avoid_node_ids;
      row.same_nodes = attempt.same_nodes;
      row.not_before = database_.clock.Now() + attempt.delay;
    } else {
      row.end_time = database_.clock.WallNow();
    }
    Touch(row);
    outcome.campaign_ended = EndIfDone(row.campaign_id);
  }
  if (queued && on_jobs_queued_) on_jobs_queued_();
  return outcome;
}

Result<std::vector<std::string>> FakeJobStore::ListUnjudged() {
  MutexLock lock(database_.mutex);
  std::vector<std::string> ids;
  for (const auto& [id, row] : database_.campaigns) {
    if (row.state != v1::CAMPAIGN_STATE_ACTIVE && row.verdict == v1::VERDICT_UNSPECIFIED) {
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
  if (it->second.verdict != v1::VERDICT_UNSPECIFIED) return Status::Ok();
  it->second.verdict = verdict;
  it->second.rules = rules;
  return Status::Ok();
}

Result<JobStore::QueueStats> FakeJobStore::GetQueueStats() {
  MutexLock lock(database_.mutex);
  QueueStats stats;
  for (const auto& [id, row] : database_.jobs) {
    Count(row.state, &stats.counts);
    if (row.state != v1::JOB_STATE_QUEUED) continue;
    stats.oldest_queued = std::min(stats.oldest_queued.value_or(row.create_time), row.create_time);
  }
  return stats;
}

v1::Campaign FakeJobStore::CampaignMessage(const std::string& id, const CampaignRow& row) const {
  v1::Campaign message;
  message.set_campaign_id(id);
  message.set_name(row.spec.name());
  message.set_state(row.state);
  message.set_verdict(row.verdict);
  for (const v1::RuleVerdict& rule : row.rules) *message.add_rules() = rule;
  for (const std::string& job_id : row.job_ids) {
    const JobRow& job = database_.jobs.at(job_id);
    Count(job.state, message.mutable_jobs());
    message.set_case_count(message.case_count() + static_cast<int>(job.job.cases.size()));
    message.set_cases_done(message.cases_done() + static_cast<int>(DoneCases(job).size()));
  }
  message.set_priority(row.spec.priority());
  *message.mutable_create_time() = schema::ToTimestamp(row.create_time);
  if (row.end_time) *message.mutable_end_time() = schema::ToTimestamp(*row.end_time);
  *message.mutable_spec() = row.spec;
  message.mutable_left_out()->Swap(message.mutable_spec()->mutable_left_out());
  return message;
}

v1::Job FakeJobStore::JobMessage(const JobRow& row) const {
  v1::Job message;
  message.set_job_id(row.job.job_id);
  message.set_campaign_id(row.campaign_id);
  message.set_benchmark(row.job.benchmark);
  if (row.job.benchmark_index) message.set_benchmark_index(*row.job.benchmark_index);
  message.set_state(row.state);
  message.set_epoch(row.epoch);
  message.set_attempts(row.attempts);
  message.set_repetition(row.job.repetition);
  message.set_case_count(static_cast<int>(row.job.cases.size()));
  message.set_cases_done(static_cast<int>(DoneCases(row).size()));
  message.set_world_size(row.job.world_size);
  const bool placed = row.state != v1::JOB_STATE_QUEUED && !row.node_ids.empty();
  const NodeIds::List& nodes =
      placed ? row.node_ids : static_cast<const NodeIds::List&>(row.job.candidate_node_ids);
  const size_t most = placed || !HasChoice(row.job) ? nodes.size() : kNamedCandidates;
  const size_t named = std::min(nodes.size(), most);
  message.set_more_node_count(static_cast<int>(nodes.size() - named));
  for (size_t i = 0; i < named; ++i) {
    const std::string& id = nodes[i];
    const auto node = database_.nodes.find(id);
    message.add_node_names(node == database_.nodes.end() ? id : node->second.description.name());
  }
  for (int gpu : row.job.gpu_indices) message.add_gpu_indices(gpu);
  if (row.failure) *message.mutable_failure() = *row.failure;
  *message.mutable_create_time() = schema::ToTimestamp(row.create_time);
  if (row.start_time) *message.mutable_start_time() = schema::ToTimestamp(*row.start_time);
  if (row.end_time) *message.mutable_end_time() = schema::ToTimestamp(*row.end_time);
  return message;
}

std::vector<int> FakeJobStore::DoneCases(const JobRow& row) const {
  std::vector<int> done;
  const auto begin = database_.cases.lower_bound({row.job.job_id, 0});
  for (auto it = begin; it != database_.cases.end() && it->first.first == row.job.job_id; ++it) {
    done.push_back(it->first.second);
  }
  return done;
}

void FakeJobStore::Touch(JobRow& row) { row.revision = database_.next_sequence++; }

bool FakeJobStore::EndIfDone(const std::string& campaign_id) {
  CampaignRow& campaign = database_.campaigns.at(campaign_id);
  if (campaign.state != v1::CAMPAIGN_STATE_ACTIVE) return false;
  for (const std::string& id : campaign.job_ids) {
    if (IsOpen(database_.jobs.at(id).state)) return false;
  }
  campaign.state =
      campaign.cancel_requested ? v1::CAMPAIGN_STATE_CANCELLED : v1::CAMPAIGN_STATE_COMPLETED;
  campaign.end_time = database_.clock.WallNow();
  return true;
}

}  // namespace assay::storage
