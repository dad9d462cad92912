// Stores benchmark campaigns, their jobs, and leases on running jobs. The implementations in
// storage/postgres and storage/fakes both pass tests/contract/job_store_contract.h.
//
// A job starts as QUEUED. A coordinator claims it under a lease, which makes it RUNNING. After the
// attempt the job ends or becomes QUEUED again. Each claim increments the job's epoch, and later
// calls must pass this epoch. Calls with an old epoch change nothing.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"
#include "storage/types.h"

namespace assay::storage {

// Maximum number of candidate nodes that a Job message lists by name. In a large fleet, listing all
// candidates of thousands of jobs would make messages too large.
inline constexpr int kNamedCandidates = 8;

// Stores campaigns and jobs. Thread-safe. Calls block on the database, so do not make them on gRPC
// threads. All calls return UNAVAILABLE if the database cannot be reached. The call may have taken
// effect even then, but it is always safe to repeat it.
class JobStore {
 public:
  virtual ~JobStore() = default;

  // Stores a campaign with all its jobs, atomically. If the request_id is already known, stores
  // nothing and returns the campaign that was created with it. Returns ALREADY_EXISTS if the
  // campaign_id is taken.
  virtual Result<v1::Campaign> CreateCampaign(const NewCampaign& campaign) = 0;

  // Finds a campaign by id, or otherwise the newest campaign with this name. Returns NOT_FOUND if
  // there is none. The error's hint is then a similar name among the newest kOfferedCampaigns
  // campaigns, if there is one.
  virtual Result<v1::Campaign> GetCampaign(const std::string& id_or_name) = 0;

  // Returns campaigns without specs, newest first.
  virtual Result<Page<v1::Campaign>> ListCampaigns(const PageRequest& page) = 0;

  // Returns the jobs of a campaign in order of creation. A job that can run on several sets of
  // nodes and has not been placed yet lists only its first kNamedCandidates candidates and the
  // number of the others. Returns NOT_FOUND if the campaign does not exist.
  virtual Result<Page<v1::Job>> ListJobs(const std::string& campaign_id,
                                         const PageRequest& page) = 0;

  // The campaign's jobs that changed since `revision` (0: all jobs), and the revision to pass to
  // the next call. A change may be returned twice but is never missed. ListJobChanges returns
  // NOT_FOUND if the campaign does not exist.
  struct JobChanges {
    std::vector<v1::Job> jobs;
    int64_t revision = 0;
  };
  virtual Result<JobChanges> ListJobChanges(const std::string& campaign_id, int64_t revision) = 0;

  // Determines when a node that sends no heartbeats counts as absent. A node that has a session
  // with a coordinator is absent after `stale`. A node without a session is absent after `grace`,
  // which gives its agent time to reconnect.
  struct Silence {
    Duration grace{0};
    Duration stale{0};
  };
  // Returns the queued jobs of a campaign that cannot start because too many of their candidate
  // nodes are absent, grouped by these nodes. Returns an empty list if the campaign does not exist.
  virtual Result<std::vector<v1::WaitingJobs>> ListWaiting(const std::string& campaign_id,
                                                           const Silence& silence) = 0;

  // Cancels a campaign: queued jobs are cancelled immediately, and running jobs are marked. Returns
  // the running jobs, which the coordinators that own them must stop. The campaign becomes
  // CANCELLED when they have ended. Idempotent. Has no effect on a campaign that has already ended.
  // Returns NOT_FOUND if the campaign does not exist.
  virtual Result<std::vector<JobEpoch>> CancelCampaign(const std::string& campaign_id) = 0;

  struct ClaimRequest {
    std::string owner;
    Duration lease{0};
    // Nodes that the owner can reach.
    std::vector<std::string> node_ids;
    int limit = 64;
    // Time that a job waits in the queue before nodes are reserved for it.
    Duration patience = std::chrono::minutes(2);
  };
  // Leases queued jobs that fit on free nodes among `node_ids`. Prefers jobs with higher priority,
  // then campaigns with fewer running jobs, then older jobs. A job gets all its nodes or none. No
  // job and no exclusive node is ever leased to two owners. Ignores nodes that the NodeStore does
  // not know. To bound the work, examines only the first jobs of each queue, including at most 32
  // per campaign that are not pinned to fixed nodes.
  //
  // A job that has waited for `patience` reserves nodes, which later jobs cannot take. Otherwise,
  // small jobs could keep a large one waiting forever.
  virtual Result<std::vector<LeasedJob>> ClaimJobs(const ClaimRequest& request) = 0;

  // Extends the leases of running jobs and makes `owner` their owner. A restarted coordinator uses
  // this to adopt jobs that are already running. Returns the jobs that are still running with the
  // given epoch. Agents must stop the other jobs, because those attempts have ended.
  virtual Result<std::vector<LeasedJob>> RenewLeases(const std::string& owner, Duration lease,
                                                     const std::vector<JobEpoch>& jobs) = 0;

  // Returns running jobs whose lease expired at least `ago` ago, oldest first. Such jobs stay
  // RUNNING until a coordinator calls FinishAttempt.
  virtual Result<std::vector<LeasedJob>> ListExpired(Duration ago, int limit) = 0;

  // Ends an attempt to run a job: stores the outcome and frees the job's nodes and GPUs. If this
  // was the campaign's last open job, also ends the campaign. A job that should be cancelled
  // becomes CANCELLED instead of being queued again.
  virtual Result<FinishOutcome> FinishAttempt(const FinishedAttempt& attempt) = 0;

  // Returns campaigns whose jobs have all ended but that have no verdict. This happens if the
  // coordinator crashed before it could store the verdict.
  virtual Result<std::vector<std::string>> ListUnjudged() = 0;
  // Stores the verdict unless the campaign has one.
  virtual Status SetVerdict(const std::string& campaign_id, v1::Verdict verdict,
                            const std::vector<v1::RuleVerdict>& rules) = 0;

  // For metrics: jobs by state, and the creation time of the oldest queued job.
  struct QueueStats {
    v1::JobCounts counts;
    std::optional<WallTime> oldest_queued;
  };
  virtual Result<QueueStats> GetQueueStats() = 0;
};

}  // namespace assay::storage
