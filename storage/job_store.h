// Campaigns, jobs and leases. Implementations: storage/postgres (the real one)
// and storage/fakes/fake_job_store.h; both pass tests/contract/job_store_contract.h.
//
// A job is QUEUED, then RUNNING under a lease (owner, epoch, expiry), and then
// either ended or QUEUED again. Every claim raises the epoch by one, and whoever
// acts on a job names the epoch it acts under; an old epoch changes nothing.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"
#include "storage/types.h"

namespace assay::storage {

// Enough to tell the nodes of a small fleet; all of a large one, in each of thousands of jobs,
// would be most of what is sent.
inline constexpr int kNamedCandidates = 8;

// Thread-safe. Calls block on the database: never make them on a thread of
// gRPC's. UNAVAILABLE: the database cannot be reached now; the call may or may
// not have had its effect, and every call may be made again.
class JobStore {
 public:
  virtual ~JobStore() = default;

  // Stores the campaign and all its jobs, or nothing. A request_id seen before
  // returns the campaign made then. ALREADY_EXISTS if campaign_id is taken.
  virtual Result<v1::Campaign> CreateCampaign(const NewCampaign& campaign) = 0;

  // By id, or the newest of a name. NOT_FOUND offers the nearest name of the newest
  // kOfferedCampaigns, if one is near.
  virtual Result<v1::Campaign> GetCampaign(const std::string& id_or_name) = 0;

  // Newest first, without specs.
  virtual Result<Page<v1::Campaign>> ListCampaigns(const PageRequest& page) = 0;

  // In the order in which they were created. A job that has a choice of nodes and none yet
  // names the first kNamedCandidates of them, and says how many more there are.
  virtual Result<Page<v1::Job>> ListJobs(const std::string& campaign_id,
                                         const PageRequest& page) = 0;

  // The campaign's jobs that changed after `revision` (0: all), and the newest
  // revision. Feeds watchers: may repeat a change, never misses one. NOT_FOUND.
  struct JobChanges {
    std::vector<v1::Job> jobs;
    int64_t revision = 0;
  };
  virtual Result<JobChanges> ListJobChanges(const std::string& campaign_id, int64_t revision) = 0;

  // Nodes out of session are away once they have been silent for `grace`, so that an agent
  // that dials again is not missed; all are after `stale`.
  struct Silence {
    Duration grace{0};
    Duration stale{0};
  };
  // The campaign's queued jobs that have too few candidates left, by what they wait for.
  // Nothing for an unknown campaign.
  virtual Result<std::vector<v1::WaitingJobs>> ListWaiting(const std::string& campaign_id,
                                                           const Silence& silence) = 0;

  // Ends queued jobs as CANCELLED and marks running ones; returns the latter,
  // which their owner has to stop. The campaign is CANCELLED once nothing of it
  // runs, ACTIVE until then. Idempotent; a campaign that has ended keeps its
  // state and returns nothing. NOT_FOUND.
  virtual Result<std::vector<JobEpoch>> CancelCampaign(const std::string& campaign_id) = 0;

  struct ClaimRequest {
    std::string owner;
    Duration lease{0};
    // Nodes that the owner can reach now.
    std::vector<std::string> node_ids;
    int limit = 64;
    // How long a job waits in the queue before nodes are kept for it.
    Duration patience = std::chrono::minutes(2);
  };
  // Leases queued jobs whose whole placement is among `node_ids` and free: by
  // priority, then by fewest running jobs of the campaign, then by age. One
  // transaction; all nodes of a gang or none, locked in id order. Two owners
  // never get the same job or the same exclusive node. Nodes that the NodeStore
  // does not know get nothing. Looks at the head of each campaign's queue and at
  // each node's own; among jobs with a choice of nodes, no further than 32.
  //
  // A job that has waited for `patience` and lacks a node keeps what it needs from all
  // that come after it in that order, so that small jobs do not starve a large gang: as
  // running ones end, its nodes stay free until it has all.
  virtual Result<std::vector<LeasedJob>> ClaimJobs(const ClaimRequest& request) = 0;

  // Extends the leases of these jobs and makes `owner` their owner; so a
  // restarted coordinator adopts what still runs. Returns those that are running
  // under exactly that epoch; the others are over, and their agents must stop.
  virtual Result<std::vector<LeasedJob>> RenewLeases(const std::string& owner, Duration lease,
                                                     const std::vector<JobEpoch>& jobs) = 0;

  // Running jobs whose lease expired `ago` or earlier, oldest first. They stay running until
  // FinishAttempt; any coordinator may do that.
  virtual Result<std::vector<LeasedJob>> ListExpired(Duration ago, int limit) = 0;

  // Ends an attempt: writes the disposition, frees nodes and GPUs, and ends the
  // campaign with its last job. A job with a cancel request is CANCELLED
  // instead of requeued.
  virtual Result<FinishOutcome> FinishAttempt(const FinishedAttempt& attempt) = 0;

  // Campaigns whose jobs have all ended and that have no verdict yet: a
  // coordinator that died between the two left them.
  virtual Result<std::vector<std::string>> ListUnjudged() = 0;
  // First verdict wins.
  virtual Status SetVerdict(const std::string& campaign_id, v1::Verdict verdict,
                            const std::vector<v1::RuleVerdict>& rules) = 0;

  // For metrics: jobs by state, and the creation time of the oldest queued one.
  struct QueueStats {
    v1::JobCounts counts;
    std::optional<WallTime> oldest_queued;
  };
  virtual Result<QueueStats> GetQueueStats() = 0;
};

}  // namespace assay::storage
