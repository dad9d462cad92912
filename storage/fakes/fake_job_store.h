// JobStore in memory, for tests.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "storage/fakes/fake_database.h"
#include "storage/job_store.h"

namespace assay::storage {

// Passes tests/contract/job_store_contract.h. A claim uses only nodes that FakeNodeStore knows.
class FakeJobStore : public JobStore {
 public:
  explicit FakeJobStore(FakeDatabase& database) : database_(database) {}

  // Called on the caller's thread after a job became claimable. Stands for the notification of
  // PostgreSQL. Set before use.
  void OnJobsQueued(std::function<void()> callback) { on_jobs_queued_ = std::move(callback); }

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
  using JobRow = FakeDatabase::JobRow;
  using CampaignRow = FakeDatabase::CampaignRow;

  v1::Campaign CampaignMessage(const std::string& id, const CampaignRow& row) const
      ASSAY_REQUIRES(database_.mutex);
  v1::Job JobMessage(const JobRow& row) const ASSAY_REQUIRES(database_.mutex);
  LeasedJob Leased(const JobRow& row) const ASSAY_REQUIRES(database_.mutex);
  std::vector<int> DoneCases(const JobRow& row) const ASSAY_REQUIRES(database_.mutex);
  // Names of the newest kOfferedCampaigns.
  std::vector<std::string> NewestNames() const ASSAY_REQUIRES(database_.mutex);
  // Nodes that waiting jobs reserve from the jobs behind them.
  struct Reservation {
    const NewJob* job;
    std::vector<std::string> node_ids;
  };
  // Returns the nodes on which the job can run now, in rank order; empty if there are too few.
  std::optional<std::vector<std::string>> Place(const JobRow& row, const ClaimRequest& request,
                                                const std::vector<Reservation>& reserved) const
      ASSAY_REQUIRES(database_.mutex);
  // Reserves nodes for the job if it has waited for the request's patience.
  void Reserve(const JobRow& row, const ClaimRequest& request,
               std::vector<Reservation>& reserved) const ASSAY_REQUIRES(database_.mutex);
  std::set<std::string> KnownNodes(const ClaimRequest& request) const
      ASSAY_REQUIRES(database_.mutex);
  // Returns the nodes whose resources running jobs hold or waiting jobs reserve.
  std::set<std::string> HeldNodes(const JobRow& row, const std::vector<Reservation>& reserved) const
      ASSAY_REQUIRES(database_.mutex);
  void Touch(JobRow& row) ASSAY_REQUIRES(database_.mutex);
  // Ends the campaign if it has no open job. True if it did.
  bool EndIfDone(const std::string& campaign_id) ASSAY_REQUIRES(database_.mutex);

  FakeDatabase& database_;
  std::function<void()> on_jobs_queued_;
};

}  // namespace assay::storage
