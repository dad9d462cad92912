// Stores benchmark campaigns, their jobs, and leases on running jobs. The implementations in
// storage/postgres and storage/fakes both pass tests/contract/job_store_contract.h.
//
// A job starts as QUEUED. When a coordinator claims it under a lease, it becomes RUNNING. After the
// attempt, the job has either ended or is QUEUED again. Each claim increments the job's epoch. All
// later calls for this attempt must pass that epoch; calls with an older epoch change nothing.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"
#include "storage/types.h"

namespace assay::storage {

// Maximum number of candidate nodes that a Job message lists by name. In a large fleet, messages
// would become too large if thousands of jobs listed all their candidates.
inline constexpr int kNamedCandidates = 8;

// Stores campaigns and jobs. Thread-safe. Calls block on the database, so do not make them on gRPC
// threads. Every call returns UNAVAILABLE if the database cannot be reached. Even then, the call
// may have taken effect, but it is always safe to repeat it.
class JobStore {
 public:
  virtual ~JobStore() = default;

  // Stores a campaign with all its jobs, atomically. If a campaign with the same request_id exists,
  // stores nothing and returns that campaign. Returns ALREADY_EXISTS if the campaign_id is taken.
  virtual Result<v1::Campaign> CreateCampaign(const NewCampaign& campaign) = 0;

  // Finds the campaign with this id, or else the newest campaign with this name. Returns NOT_FOUND
  // if there is none. If one of the newest kOfferedCampaigns campaigns has a similar name, the
  // error's hint suggests it.
  virtual Result<v1::Campaign> GetCampaign(const std::string& id_or_name) = 0;

  // Returns campaigns without specs, newest first.
  virtual Result<Page<v1::Campaign>> ListCampaigns(const PageRequest& page) = 0;

  // Returns the jobs of a campaign in order of creation. If a job can run on several sets of nodes
  // and has no nodes yet, it lists only its first kNamedCandidates candidate nodes and the number
  // of the others. Returns NOT_FOUND if the campaign does not exist.
  virtual Result<Page<v1::Job>> ListJobs(const std::string& campaign_id,
                                         const PageRequest& page) = 0;

  // The campaign's jobs that changed since `revision` (0: all jobs), and the revision to pass to
  // the next call. The same change may be returned twice, but no change is ever missed.
  // ListJobChanges returns NOT_FOUND if the campaign does not exist.
  struct JobChanges {
    std::vector<v1::Job> jobs;
    int64_t revision = 0;
  };
  virtual Result<JobChanges> ListJobChanges(const std::string& campaign_id, int64_t revision) = 0;

  // Determines when a node that sends no heartbeats counts as absent. A node with a session is
  // absent after `stale`. A node without a session is absent after `grace`, because its agent needs
  // time to reconnect.
  struct Silence {
    Duration grace{0};
    Duration stale{0};
  };
  // Returns the queued jobs of a campaign that cannot start because too many of their candidate
  // nodes are absent or quarantined. The jobs are grouped by these nodes. Returns an empty list if
  // the campaign does not exist.
  virtual Result<std::vector<v1::WaitingJobs>> ListWaiting(const std::string& campaign_id,
                                                           const Silence& silence) = 0;

  // Cancels a campaign. Queued jobs are cancelled immediately. Running jobs are only marked and
  // returned, because their coordinators must stop them. The campaign becomes CANCELLED when all
  // its running jobs have ended. Idempotent. Has no effect on a campaign that has already ended.
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
    // As in FinishedAttempt.
    int64_t term = 0;
  };
  // Leases queued jobs that fit on the free nodes among `node_ids`. Prefers jobs with higher
  // priority, then campaigns with fewer running jobs, then older jobs. A job gets all its nodes or
  // none. No job and no exclusive node is ever leased to two owners. Ignores nodes that the
  // NodeStore does not know or that are quarantined. To bound the work, examines only the first
  // jobs of each queue. These include at most 32 jobs per campaign that are not pinned to fixed
  // nodes.
  //
  // If a job has waited for `patience`, nodes are reserved for it, so that small jobs cannot delay
  // a large one indefinitely.
  virtual Result<std::vector<LeasedJob>> ClaimJobs(const ClaimRequest& request) = 0;

  // Extends the leases of running jobs and makes `owner` their owner. A restarted coordinator uses
  // this to adopt jobs that are already running. Returns the jobs that are still running with the
  // given epoch on the node that reports them, each once. The other attempts have ended or belong
  // to other nodes, so the agents that report them must stop.
  virtual Result<std::vector<LeasedJob>> RenewLeases(const std::string& owner, Duration lease,
                                                     const std::vector<ReportedJob>& jobs) = 0;

  // Returns the job if `attempt` is its latest attempt and ran on the reported node, whether it is
  // still running or not. Returns nullopt for other attempts and unknown jobs.
  virtual Result<std::optional<LeasedJob>> GetAttempt(const ReportedJob& attempt) = 0;

  // Returns running jobs whose lease expired at least `ago` ago, oldest first. Such jobs stay
  // RUNNING until a coordinator ends them with FinishAttempt.
  virtual Result<std::vector<LeasedJob>> ListExpired(Duration ago, int limit) = 0;

  // Ends an attempt to run a job: stores the outcome and frees the job's nodes and GPUs. If no
  // other job of the campaign is open, also ends the campaign. If the job should be cancelled, it
  // becomes CANCELLED and is not queued again.
  virtual Result<FinishOutcome> FinishAttempt(const FinishedAttempt& attempt) = 0;

  // Returns the campaigns that have no verdict although all their jobs have ended. This happens if
  // the coordinator crashed before it could store the verdict.
  virtual Result<std::vector<std::string>> ListUnjudged() = 0;
  // Stores the verdict unless the campaign has one.
  virtual Status SetVerdict(const std::string& campaign_id, v1::Verdict verdict,
                            const std::vector<v1::RuleVerdict>& rules) = 0;

  // Statistics for metrics: jobs by state, and the creation time of the oldest queued job.
  struct QueueStats {
    v1::JobCounts counts;
    std::optional<WallTime> oldest_queued;
  };
  virtual Result<QueueStats> GetQueueStats() = 0;
};

}  // namespace assay::storage
