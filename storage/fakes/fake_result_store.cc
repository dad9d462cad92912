#include <algorithm>
#include <utility>

#include "common/uuid.h"
#include "storage/fakes/fake_stores.h"
#include "storage/identity.h"
#include "storage/store_rules.h"
#include "wire/result_fields.h"

namespace assay::storage {
namespace {

// Returns whether a job of this state takes results of its latest attempt.
bool TakesResults(v1::JobState state) {
  return state == v1::JOB_STATE_RUNNING || state == v1::JOB_STATE_QUEUED ||
         state == v1::JOB_STATE_FAILED;
}

}  // namespace

v1::StoredResult WithoutSamples(v1::StoredResult stored) {
  for (v1::Measurement& measurement : *stored.mutable_case_result()->mutable_measurements()) {
    measurement.clear_samples();
  }
  return stored;
}

Result<std::vector<CommitOutcome>> FakeResultStore::Commit(const std::vector<SentResult>& results) {
  MutexLock lock(database_.mutex);
  std::vector<CommitOutcome> outcomes;
  for (const SentResult& sent : results) outcomes.push_back(CommitOne(sent));
  return outcomes;
}

Result<std::vector<CommitOutcome>> FakeResultStore::Compare(
    const std::vector<v1::CaseResult>& results) {
  MutexLock lock(database_.mutex);
  std::vector<CommitOutcome> outcomes(results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const auto job = database_.jobs.find(results[i].job_id());
    if (job == database_.jobs.end() || job->second.epoch < results[i].epoch()) {
      outcomes[i].verdict = CommitVerdict::kUnknownJob;
      continue;
    }
    const auto before = job->second.hashes.find(results[i].case_index());
    if (before == job->second.hashes.end() || before->second != PayloadHash(results[i])) continue;
    outcomes[i].verdict = CommitVerdict::kStored;
  }
  return outcomes;
}

CommitOutcome FakeResultStore::CommitOne(const SentResult& sent) {
  const v1::CaseResult& result = sent.result;
  const auto job = database_.jobs.find(result.job_id());
  if (job == database_.jobs.end() || job->second.epoch < result.epoch()) {
    return {CommitVerdict::kUnknownJob, false};
  }
  FakeDatabase::JobRow& row = job->second;
  const bool held = row.epoch > 0 && row.epoch == result.epoch() && TakesResults(row.shown.state());
  if (result.case_index() < 0 || result.case_index() >= row.shown.case_count()) {
    return {CommitVerdict::kConflict, false};
  }
  if (const auto before = row.hashes.find(result.case_index()); before != row.hashes.end()) {
    if (before->second == sent.hash) return {CommitVerdict::kStored, false};
    return {held ? CommitVerdict::kConflict : CommitVerdict::kStale, false};
  }
  if (!held) return {CommitVerdict::kStale, false};
  Store(row, sent);
  return {CommitVerdict::kStored, true};
}

void FakeResultStore::Store(FakeDatabase::JobRow& row, const SentResult& sent) {
  const v1::CaseResult& result = sent.result;
  row.hashes[result.case_index()] = sent.hash;
  row.done_cases.push_back(result.case_index());
  std::sort(row.done_cases.begin(), row.done_cases.end());
  row.revision = database_.next_sequence++;
  for (v1::StoredResult& message : schema::SplitByMetric(result)) {
    message.set_result_id(NewUuid());
    message.set_campaign_id(row.campaign_id);
    message.set_campaign_name(database_.campaigns.at(row.campaign_id).shown.name());
    message.set_job_id(result.job_id());
    message.set_repetition(row.job.repetition);
    const Identity identity = IdentityOf(message.case_result());
    message.set_series_id(identity.series_id);
    message.set_lineage_id(identity.lineage_id);
    database_.results.push_back({database_.next_sequence++, std::move(message)});
  }
}

Result<ImportOutcome> FakeResultStore::Import(const ImportedCampaign& imported) {
  ASSAY_RETURN_IF_ERROR(CheckImport(imported));
  MutexLock lock(database_.mutex);
  ASSAY_ASSIGN_OR_RETURN(const std::string id, database_.Insert(imported.campaign));
  if (id != imported.campaign.campaign_id) return ImportOutcome{id, false};
  v1::Campaign& campaign = database_.campaigns.at(id).shown;
  campaign.set_state(v1::CAMPAIGN_STATE_COMPLETED);
  campaign.set_verdict(v1::VERDICT_PASSED);
  *campaign.mutable_end_time() = campaign.create_time();
  for (const NewJob& job : imported.campaign.jobs) {
    FakeDatabase::JobRow& row = database_.jobs.at(job.job_id);
    row.epoch = 1;
    row.shown.set_attempts(1);
    row.shown.set_state(v1::JOB_STATE_SUCCEEDED);
    *row.shown.mutable_start_time() = campaign.create_time();
    *row.shown.mutable_end_time() = campaign.create_time();
    const std::optional<v1::Failure> failure = FailureOf(imported, job);
    if (!failure) continue;
    *row.shown.mutable_failure() = *failure;
    row.shown.set_state(v1::JOB_STATE_FAILED);
    campaign.set_verdict(v1::VERDICT_FAILED);
  }
  for (const v1::CaseResult& result : imported.results) {
    Store(database_.jobs.at(result.job_id()), {result, PayloadHash(result)});
  }
  return ImportOutcome{id, true};
}

Result<v1::StoredResult> FakeResultStore::Get(const std::string& result_id) {
  MutexLock lock(database_.mutex);
  for (const FakeDatabase::ResultRow& row : database_.results) {
    if (row.stored.result_id() == result_id) return row.stored;
  }
  return NotFound("no result \"" + result_id + "\"");
}

Result<std::vector<v1::CaseResult>> FakeResultStore::ListOfJob(const std::string& job_id) {
  MutexLock lock(database_.mutex);
  std::map<int, v1::CaseResult> by_index;
  for (const FakeDatabase::ResultRow& row : database_.results) {
    if (row.stored.job_id() != job_id || !row.stored.primary()) continue;
    v1::CaseResult& result = by_index[row.stored.case_result().case_index()];
    result = row.stored.case_result();
    result.clear_measurements();
  }
  std::vector<v1::CaseResult> results;
  for (auto& [index, result] : by_index) results.push_back(std::move(result));
  return results;
}

Result<std::vector<v1::StoredResult>> FakeResultStore::ListOfCampaign(
    const std::string& campaign_id) {
  MutexLock lock(database_.mutex);
  std::vector<v1::StoredResult> results;
  for (const FakeDatabase::ResultRow& row : database_.results) {
    if (row.stored.campaign_id() != campaign_id) continue;
    results.push_back(WithoutSamples(row.stored));
  }
  return results;
}

}  // namespace assay::storage
