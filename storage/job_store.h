// Campaigns, jobs and leases. Implementations: storage/postgres and storage/fakes. Both pass
// tests/contract/job_store_contract.h.
//
// A job is QUEUED, then RUNNING under a lease (owner, epoch, expiry), then ended or QUEUED again.
// Every claim increments the epoch. Every later call names the epoch; an old epoch changes nothing.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"
#include "storage/types.h"

namespace assay::storage {

// Number of candidates that a Job message names, which is all nodes of a small fleet. With the
// names of all nodes of a large fleet, thousands of jobs would make messages too large.
inline constexpr int kNamedCandidates = 8;

// Thread-safe. Calls block on the database, so do not make them on a gRPC thread. UNAVAILABLE: the
// database cannot be reached. The call may have had its effect; every call can be repeated.
class JobStore {
 public:
  virtual ~JobStore() = default;

  // Stores the campaign and all its jobs, or nothing. A known request_id stores nothing and returns
  // its campaign. ALREADY_EXISTS if campaign_id is taken.
  virtual Result<v1::Campaign> CreateCampaign(const NewCampaign& campaign) = 0;

  // Returns the campaign of this id, else the newest of this name. NOT_FOUND; the hint is the
  // closest name among the newest kOfferedCampaigns, if one is close.
  virtual Result<v1::Campaign> GetCampaign(const std::string& id_or_name) = 0;

  // Returns campaigns without specs, newest first.
  virtual Result<Page<v1::Campaign>> ListCampaigns(const PageRequest& page) = 0;

  // Returns jobs in the order of their creation. A job that has a choice of nodes and no placement
  // yet names the first kNamedCandidates and the number of the others. NOT_FOUND.
  virtual Result<Page<v1::Job>> ListJobs(const std::string& campaign_id,
                                         const PageRequest& page) = 0;

  // Returns the campaign's jobs that changed after `revision` (0: all), and the newest revision.
  // May repeat a change, never misses one. NOT_FOUND.
  struct JobChanges {
    std::vector<v1::Job> jobs;
    int64_t revision = 0;
  };
  virtual Result<JobChanges> ListJobChanges(const std::string& campaign_id, int64_t revision) = 0;

  // Decides when a node counts as absent. Without a session this is after `grace` without
  // heartbeats, so that an agent can reconnect; with a session after `stale`.
  struct Silence {
    Duration grace{0};
    Duration stale{0};
  };
  // Returns the campaign's queued jobs that have too few present candidates, grouped by the absent
  // nodes. Empty for an unknown campaign.
  virtual Result<std::vector<v1::WaitingJobs>> ListWaiting(const std::string& campaign_id,
                                                           const Silence& silence) = 0;

  // Cancels queued jobs and marks running ones. Returns the running ones, which their owner must
  // stop. The campaign stays ACTIVE until they have ended, then it is CANCELLED. Idempotent; for a
  // campaign that has ended, changes and returns nothing. NOT_FOUND.
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
  // Leases queued jobs whose whole placement is free and among `node_ids`. The order is: priority,
  // fewest running jobs of the campaign, age. One transaction leases all nodes of a gang or none.
  // Two owners never get the same job or the same exclusive node. Nodes unknown to the NodeStore
  // get nothing. Looks at the first jobs of each campaign's queue and of each node's queue; among
  // jobs with a choice of nodes, at the first 32 only.
  //
  // A job that has waited for `patience` and still needs nodes reserves them from all later jobs in
  // this order. So small jobs do not starve a large gang.
  virtual Result<std::vector<LeasedJob>> ClaimJobs(const ClaimRequest& request) = 0;

  // Extends the leases of these jobs and makes `owner` their owner. This is how a restarted
  // coordinator adopts running jobs. Returns the jobs that run under exactly that epoch. The other
  // attempts have ended, and their agents must stop.
  virtual Result<std::vector<LeasedJob>> RenewLeases(const std::string& owner, Duration lease,
                                                     const std::vector<JobEpoch>& jobs) = 0;

  // Returns running jobs whose lease expired `ago` or longer ago, oldest first. They stay RUNNING
  // until any coordinator calls FinishAttempt.
  virtual Result<std::vector<LeasedJob>> ListExpired(Duration ago, int limit) = 0;

  // Ends an attempt: stores the disposition, frees nodes and GPUs, and ends the campaign with its
  // last job. A job with a cancel request is CANCELLED instead of requeued.
  virtual Result<FinishOutcome> FinishAttempt(const FinishedAttempt& attempt) = 0;

  // Returns campaigns whose jobs have all ended and that have no verdict, because a coordinator
  // died in between.
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
