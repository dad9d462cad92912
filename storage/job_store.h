// Stores benchmark campaigns, their jobs, and leases on running jobs. The implementations in
// storage/postgres and storage/fakes both pass tests/contract/job_*_contract.h.
//
// A job starts as QUEUED. When a coordinator claims it under a lease, it becomes RUNNING. After the
// attempt, the job either ends or is QUEUED again. Each claim increments the job's epoch, and all
// later calls for the attempt must pass that epoch. Calls with an outdated epoch have no effect.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"
#include "storage/types.h"

namespace assay::storage {

// The maximum number of candidate nodes listed in a Job message. In a large fleet, messages would
// become too large if thousands of jobs each listed all of their candidates.
inline constexpr int kNamedCandidates = 8;

// A store of campaigns and jobs. Thread-safe. Methods block on the database, so do not call them on
// gRPC threads. All methods return UNAVAILABLE if the database cannot be reached. The call may
// still have taken effect, but is always safe to repeat.
class JobStore {
 public:
  virtual ~JobStore() = default;

  // Stores a campaign with all its jobs, atomically. If a campaign with the same request_id already
  // exists, returns it and stores nothing. Returns ALREADY_EXISTS if another campaign has the same
  // campaign_id.
  virtual Result<v1::Campaign> CreateCampaign(const NewCampaign& campaign) = 0;

  // Returns the campaign with this id or, failing that, the newest campaign with this name. If
  // there is neither, returns NOT_FOUND, with a hint if any of the newest kOfferedCampaigns
  // campaigns has a similar name.
  virtual Result<v1::Campaign> GetCampaign(const std::string& id_or_name) = 0;

  // Returns campaigns without specs, newest first.
  virtual Result<Page<v1::Campaign>> ListCampaigns(const PageRequest& page) = 0;

  // Returns the newest `limit` campaigns that are active, without specs, newest first.
  virtual Result<std::vector<v1::Campaign>> ListActiveCampaigns(int limit) = 0;

  // Returns the jobs of a campaign in order of creation. For a job that can run on several sets of
  // nodes and has not been assigned to one yet, lists only the first kNamedCandidates candidates
  // and the number of others. Returns NOT_FOUND if the campaign does not exist.
  virtual Result<Page<v1::Job>> ListJobs(const std::string& campaign_id,
                                         const PageRequest& page) = 0;

  // The result of ListJobChanges: the jobs of a campaign that changed since `revision`, and the
  // revision to pass to the next call. To get all jobs, pass 0 in the first call. No change is
  // missed, but some may be returned twice. ListJobChanges returns NOT_FOUND if the campaign does
  // not exist.
  struct JobChanges {
    std::vector<v1::Job> jobs;
    int64_t revision = 0;
  };
  virtual Result<JobChanges> ListJobChanges(const std::string& campaign_id, int64_t revision) = 0;

  // The time without heartbeats after which a node is considered absent. `stale` applies to nodes
  // that are connected to a coordinator. `grace` applies to all others, because their agents need
  // time to reconnect.
  struct Silence {
    Duration grace{0};
    Duration stale{0};
  };
  // Returns the queued jobs of a campaign that cannot start because too many of their candidate
  // nodes are absent, quarantined after failures, or cordoned by an operator. Groups the jobs by
  // these nodes. Returns an empty list if the campaign does not exist.
  virtual Result<std::vector<v1::WaitingJobs>> ListWaiting(const std::string& campaign_id,
                                                           const Silence& silence) = 0;

  // Cancels a campaign. Queued jobs end immediately. Running jobs are only marked for cancellation
  // and returned, because their coordinators must stop them. Once they have all ended, the campaign
  // becomes CANCELLED. After an error, the remaining queued jobs will not start, but the call must
  // be repeated to cancel them. Does nothing if the campaign has ended. Returns NOT_FOUND if it
  // does not exist.
  virtual Result<std::vector<JobEpoch>> CancelCampaign(const std::string& campaign_id) = 0;

  // Pauses or resumes a campaign. While it is paused, none of its queued jobs start. Pausing it
  // again does not change who paused it or when. Returns NOT_FOUND if the campaign does not exist,
  // and FAILED_PRECONDITION with reason CAMPAIGN_ENDED if it has ended.
  virtual Status SetPaused(const std::string& campaign_id, bool paused, const std::string& by) = 0;

  struct RerunRequest {
    std::string campaign_id;
    // If the campaign has already been rerun with this id, the request changes nothing.
    std::string request_id;
    bool failed_only = false;
    // Number of repetitions in one run of all jobs.
    int repetitions = 1;
    std::string requested_by;
  };
  // Reruns jobs of an ended campaign, which becomes active again and loses its verdict. Records the
  // request in Campaign.reruns.
  // - If `failed_only`, requeues the jobs of the latest run that FAILED or were CANCELLED and lack
  //   a result for some case. These jobs keep their results, and their retries are counted from 0.
  // - Otherwise, adds a copy of each job of the latest run, with a new seed and its repetition
  //   number increased by `repetitions`.
  // Returns NOT_FOUND if the campaign does not exist, and FAILED_PRECONDITION if it is active, has
  // not been judged yet, has no jobs to rerun, or has been rerun kMaxReruns times.
  virtual Status RerunCampaign(const RerunRequest& request) = 0;

  struct ClaimRequest {
    std::string owner;
    Duration lease{0};
    // Nodes that the owner can reach.
    std::vector<std::string> node_ids;
    int limit = 64;
    // Time that a job waits in the queue before nodes are reserved for it.
    Duration patience = std::chrono::minutes(2);
    // The caller's term as scheduler, as in FinishedAttempt.
    int64_t term = 0;
  };
  // Leases queued jobs to `owner`, on free nodes among `node_ids`. A job gets either all the nodes
  // it needs or none. No job or exclusive node is ever leased to two owners. Ignores nodes that are
  // unknown, quarantined or cordoned.
  // Prefers jobs with higher priority, then campaigns with fewer running jobs, then older jobs. To
  // limit the work, examines only a limited number of each campaign's queued jobs. Reserves nodes
  // for a job that has waited for `patience`, so that small jobs cannot delay a large job
  // indefinitely.
  virtual Result<std::vector<LeasedJob>> ClaimJobs(const ClaimRequest& request) = 0;

  // Extends the leases of running jobs that agents have reported, and makes `owner` their owner, so
  // that a restarted coordinator adopts running jobs. Returns, once each, the jobs that are still
  // running on the reporting node in the reported attempt. All other reported attempts have ended
  // or are assigned to other nodes, so the agents must stop them.
  virtual Result<std::vector<LeasedJob>> RenewLeases(const std::string& owner, Duration lease,
                                                     const std::vector<ReportedJob>& jobs) = 0;

  // Returns the job if `attempt` is its latest attempt and runs, or ran, on the given node.
  // Otherwise, returns nullopt.
  virtual Result<std::optional<LeasedJob>> GetAttempt(const ReportedJob& attempt) = 0;

  // Returns running jobs whose leases expired at least `ago` ago, oldest first. Such jobs stay
  // RUNNING until a coordinator ends them with FinishAttempt.
  virtual Result<std::vector<LeasedJob>> ListExpired(Duration ago, int limit) = 0;

  struct DrainedJob {
    LeasedJob job;
    std::vector<std::string> node_names;  // The drained nodes. Sorted.
  };
  // Returns running jobs with a node whose drain deadline has passed, in the order of their ids.
  virtual Result<std::vector<DrainedJob>> ListDrained(int limit) = 0;

  // Ends an attempt to run a job: stores the outcome and frees the job's nodes and GPUs. If this
  // was the campaign's last open job, also ends the campaign. If cancellation of the job was
  // requested, the job becomes CANCELLED instead of being queued again.
  virtual Result<FinishOutcome> FinishAttempt(const FinishedAttempt& attempt) = 0;

  // Returns the campaigns that have no verdict even though all of their jobs have ended, for
  // example because the coordinator crashed before storing the verdict.
  virtual Result<std::vector<std::string>> ListUnjudged() = 0;
  // Stores the verdict. Does nothing if the campaign already has a verdict or is active again.
  virtual Status SetVerdict(const std::string& campaign_id, v1::Verdict verdict,
                            const std::vector<v1::RuleVerdict>& rules) = 0;

  // Statistics for metrics: the number of jobs in each state, the creation time of the oldest
  // queued job, and the number of campaigns that have not ended. Counts paused campaigns and their
  // queued jobs separately.
  struct QueueStats {
    v1::JobCounts counts;
    int paused = 0;
    std::optional<WallTime> oldest_queued;
    int active_campaigns = 0;
    int paused_campaigns = 0;
  };
  virtual Result<QueueStats> GetQueueStats() = 0;
};

}  // namespace assay::storage
