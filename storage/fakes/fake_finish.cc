// Ends attempts in memory.
#include <algorithm>
#include <utility>

#include "storage/fakes/fake_stores.h"
#include "storage/store_rules.h"
#include "wire/timestamps.h"

namespace assay::storage {

Result<FinishOutcome> FakeJobStore::FinishAttempt(const FinishedAttempt& attempt) {
  MutexLock lock(database_.mutex);
  JobRow* const row = Ended(attempt);
  if (row == nullptr) return FinishOutcome{};
  FinishOutcome outcome{true, row->campaign_id, false, {}};
  if (attempt.failure && !attempt.mend) {
    row->failures.push_back({attempt.failure->failure_class(), attempt.failure->reason(),
                             row->node_ids, attempt.failure->node_id(), attempt.also_node_ids});
  }
  const bool succeeded = attempt.disposition == Disposition::kSucceeded;
  if (!succeeded || attempt.mend) {
    row->shown.clear_failure();
    if (attempt.failure && !succeeded) *row->shown.mutable_failure() = *attempt.failure;
  }
  const bool requeue = attempt.disposition == Disposition::kRequeue;
  row->shown.set_state(requeue && row->cancel_requested ? v1::JOB_STATE_CANCELLED
                                                        : StateAfter(attempt.disposition));
  row->owner.clear();
  if (row->shown.state() == v1::JOB_STATE_QUEUED) {
    row->avoid_node_ids = attempt.avoid_node_ids;
    row->same_nodes = attempt.same_nodes;
    row->not_before = database_.clock.Now() + attempt.delay;
  } else {
    *row->shown.mutable_end_time() = schema::ToTimestamp(database_.clock.WallNow());
  }
  Touch(*row);
  if (succeeded) {
    for (const std::string& node_id : row->node_ids) {
      const auto node = database_.nodes.find(node_id);
      if (node == database_.nodes.end()) continue;
      node->second.failed_jobs.clear();
      node->second.failed_campaigns.clear();
    }
  } else {
    for (const std::string& node_id : attempt.suspect_node_ids) {
      if (!CountFailure(attempt, *row, node_id)) continue;
      outcome.quarantined.push_back(database_.nodes.at(node_id).shown.description().name());
    }
    std::sort(outcome.quarantined.begin(), outcome.quarantined.end());
  }
  v1::Campaign& campaign = database_.campaigns.at(row->campaign_id).shown;
  if (attempt.mend && campaign.state() == v1::CAMPAIGN_STATE_COMPLETED &&
      campaign.verdict() != v1::VERDICT_UNSPECIFIED) {
    campaign.clear_verdict();
    campaign.clear_rules();
    outcome.campaign_ended = true;
  } else {
    outcome.campaign_ended = EndIfDone(row->campaign_id);
  }
  return outcome;
}

FakeJobStore::JobRow* FakeJobStore::Ended(const FinishedAttempt& attempt) {
  if (!database_.IsTerm(attempt.term)) return nullptr;
  if (!attempt.mend) return Running(attempt.job);
  JobRow* const row = Latest(attempt.job);
  if (row == nullptr) return nullptr;
  const v1::JobState state = row->shown.state();
  const bool open = state == v1::JOB_STATE_QUEUED || state == v1::JOB_STATE_FAILED;
  return open && row->done_cases.size() == row->job.cases.size() ? row : nullptr;
}

bool FakeJobStore::CountFailure(const FinishedAttempt& attempt, const JobRow& row,
                                const std::string& node_id) {
  const auto it = database_.nodes.find(node_id);
  if (it == database_.nodes.end() || !it->second.shown.quarantine().empty()) return false;
  FakeDatabase::NodeRow& node = it->second;
  node.failed_jobs.insert(row.job.job_id);
  node.failed_campaigns.insert(row.campaign_id);
  const bool jobs = node.failed_jobs.size() >= kQuarantineJobs;
  if (!jobs && node.failed_campaigns.size() < kQuarantineCampaigns) return false;
  node.shown.set_quarantine(
      QuarantineReason(jobs ? FailedJobsText() : FailedCampaignsText(), attempt.failure));
  *node.shown.mutable_quarantine_time() = schema::ToTimestamp(database_.clock.WallNow());
  return true;
}

}  // namespace assay::storage
