// JobStore in PostgreSQL.
#pragma once

#include <string>
#include <vector>

#include "storage/job_store.h"
#include "storage/postgres/candidate_sets.h"
#include "storage/postgres/pool.h"

namespace assay::storage {

// The channel on which transactions that queue jobs notify.
inline constexpr const char* kJobsQueuedChannel = "assay_jobs_queued";

class PostgresJobStore : public JobStore {
 public:
  explicit PostgresJobStore(Pool& pool) : pool_(pool) {}

  Result<v1::Campaign> CreateCampaign(const NewCampaign& campaign) override;
  Result<v1::Campaign> GetCampaign(const std::string& id_or_name) override;
  Result<Page<v1::Campaign>> ListCampaigns(const PageRequest& page) override;
  Result<Page<v1::Job>> ListJobs(const std::string& campaign_id, const PageRequest& page) override;
  Result<JobChanges> ListJobChanges(const std::string& campaign_id, int64_t revision) override;
  Result<std::vector<v1::WaitingJobs>> ListWaiting(const std::string& campaign_id,
                                                   const Silence& silence) override;
  Result<std::vector<JobEpoch>> CancelCampaign(const std::string& campaign_id) override;
  Result<std::vector<LeasedJob>> ClaimJobs(const ClaimRequest& request) override;
  Result<std::vector<LeasedJob>> RenewLeases(const std::string& owner, Duration lease,
                                             const std::vector<JobEpoch>& jobs) override;
  Result<std::vector<LeasedJob>> ListExpired(Duration ago, int limit) override;
  Result<FinishOutcome> FinishAttempt(const FinishedAttempt& attempt) override;
  Result<std::vector<std::string>> ListUnjudged() override;
  Status SetVerdict(const std::string& campaign_id, v1::Verdict verdict,
                    const std::vector<v1::RuleVerdict>& rules) override;
  Result<QueueStats> GetQueueStats() override;

 private:
  // Ends the campaign if none of its jobs is open; true for the one caller whose
  // call did it.
  Result<bool> EndIfDone(const std::string& campaign_id);

  Pool& pool_;
  CandidateSets candidates_;
};

}  // namespace assay::storage
