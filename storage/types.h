// Data types used in the interfaces of the stores. All times are UTC. Ids are UUIDs in text form
// unless stated otherwise.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "assay/v1/campaign_service.pb.h"
#include "assay/v1/job.pb.h"
#include "assay/v1/node_service.pb.h"
#include "assay/v1/result_service.pb.h"
#include "assay/v1/session.pb.h"
#include "common/clock.h"
#include "model/page.h"
#include "storage/node_ids.h"

namespace assay::storage {

// A job to be stored: one benchmark, its cases and the nodes that may run them.
struct NewJob {
  std::string job_id;
  std::string benchmark;
  std::optional<int> benchmark_index;  // Entry of the campaign's spec.
  int benchmark_version = 0;
  v1::ResourceKind resource = v1::RESOURCE_KIND_UNSPECIFIED;
  std::vector<v1::BenchmarkCase> cases;
  int world_size = 1;
  // The number of nodes that the job needs. They are chosen from `candidate_node_ids`. If there are
  // exactly that many candidates, the job is pinned to them.
  int node_count = 1;
  NodeIds candidate_node_ids;
  // Indices of the GPUs to use on each node, in rank order (ranks are the job's numbered
  // processes). The ranks of the first node are numbered first, then those of the second, and so
  // on. Empty for CPU and network jobs.
  std::vector<int> gpu_indices;
  // If true, no other job runs on the job's nodes. If false, the job reserves only its GPUs, and
  // other jobs may use the rest of each node. Jobs without GPUs always reserve whole nodes.
  bool exclusive_node = true;
  Duration timeout{0};
  int repetition = 0;
  uint64_t seed = 0;
  // If true, hardware counters are read for each result.
  bool counters = false;
  // NCCL's environment variables for the runners, by name.
  std::map<std::string, std::string> nccl;
  // If true, the job may use GPUs of several models.
  bool mixed_gpus = false;
  v1::Effort effort = v1::EFFORT_UNSPECIFIED;
};

// True if the job has more candidates than it needs nodes.
inline bool HasChoice(const NewJob& job) {
  return job.candidate_node_ids.size() > static_cast<size_t>(job.node_count);
}

struct NewCampaign {
  std::string campaign_id;
  std::string request_id;
  // Its left_out, submitted_by, coverage and schedule become the campaign's.
  v1::CampaignSpec spec;
  // At least one. Every repetition has the same jobs in the same order.
  std::vector<NewJob> jobs;
};

// A campaign that has ended, whose results another program measured.
struct ImportedCampaign {
  NewCampaign campaign;
  // One for every case of every job, with its job_id and epoch 1.
  std::vector<v1::CaseResult> results;
};

// A failed attempt. The job keeps it, so that the next attempt can avoid the nodes that caused it.
struct AttemptFailure {
  v1::FailureClass failure_class = v1::FAILURE_CLASS_UNSPECIFIED;
  v1::Reason reason = v1::REASON_UNSPECIFIED;
  std::vector<std::string> node_ids;       // The placement.
  std::string node_id;                     // Where the failure happened; empty if unknown.
  std::vector<std::string> also_node_ids;  // Other nodes that caused it.
};

// A job under lease.
struct LeasedJob {
  std::string campaign_id;
  NewJob job;
  int64_t epoch = 0;
  // The placement in rank order.
  std::vector<std::string> node_ids;
  WallTime start_time{};  // When this attempt was claimed.
  // Indices of the cases that already have a result.
  std::vector<int> done_cases;
  // Earlier attempts, all of which failed.
  std::vector<AttemptFailure> failures;
  int retries = 0;  // The campaign's limit.
  bool cancel_requested = false;
  // Always RUNNING, except in the result of GetAttempt for an attempt that is over.
  v1::JobState state = v1::JOB_STATE_RUNNING;
};

struct JobEpoch {
  std::string job_id;
  int64_t epoch = 0;
  auto operator<=>(const JobEpoch&) const = default;
};

// A job, and a node that says that it runs the job.
struct ReportedJob {
  JobEpoch job;
  std::string node_id;
  auto operator<=>(const ReportedJob&) const = default;
};

// Fate of a job after an attempt.
enum class Disposition { kSucceeded, kFailed, kSkipped, kCancelled, kRequeue };

struct FinishedAttempt {
  JobEpoch job;
  Disposition disposition = Disposition::kSucceeded;
  std::optional<v1::Failure> failure;
  std::vector<std::string> also_node_ids;  // Nodes that caused it, besides failure->node_id.
  // Settings for the next attempt, used only if the job is queued again (kRequeue): the nodes to
  // avoid if possible, the delay before the attempt, and whether to use the same nodes as this
  // attempt.
  std::vector<std::string> avoid_node_ids;
  Duration delay{0};
  bool same_nodes = false;
  // The nodes blamed for this failure. A node is quarantined after it has failed kQuarantineJobs
  // jobs in a row, or jobs of kQuarantineCampaigns campaigns. A job counts only once per node, even
  // if several attempts fail. A successful job resets the counts of its nodes.
  std::vector<std::string> suspect_node_ids;
  // True to end a job that is not running, because its remaining results arrived after its last
  // attempt failed or was requeued. Also removes the verdict of the job's campaign, so that the
  // campaign is judged again. Has no effect if a newer attempt has started or if a case still has
  // no result.
  bool mend = false;
  // The number of the election that made the caller the scheduler, or 0 if the caller does not have
  // to be the scheduler. If another scheduler has been elected since, FinishAttempt has no effect.
  int64_t term = 0;
};

inline constexpr int kQuarantineJobs = 5;
inline constexpr int kQuarantineCampaigns = 3;

struct FinishOutcome {
  // False if the job does not run under this epoch any more. In this case, nothing has changed.
  bool held = false;
  std::string campaign_id;
  // True if this was the campaign's last open job, or if a mended job removed its verdict.
  bool campaign_ended = false;
  // Names of the nodes that were quarantined by this failure.
  std::vector<std::string> quarantined;
};

}  // namespace assay::storage
