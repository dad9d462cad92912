// Records that the stores take and return. Times are UTC; ids are UUIDs in text
// unless said otherwise.
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
#include "common/clock.h"
#include "storage/node_ids.h"

namespace assay::storage {

// A job to be stored: one benchmark on one placement with its list of cases.
struct NewJob {
  std::string job_id;
  std::string benchmark;
  std::optional<int> benchmark_index;  // Of its entry in the campaign's spec.
  int benchmark_version = 0;
  v1::ResourceKind resource = v1::RESOURCE_KIND_UNSPECIFIED;
  std::vector<v1::BenchmarkCase> cases;
  int world_size = 1;
  // How many nodes the job occupies at once, and which may be among them. As many
  // candidates as nodes: the job is pinned.
  int node_count = 1;
  NodeIds candidate_node_ids;
  // GPUs of each node, in rank order; empty for CPU and network jobs. Ranks are numbered
  // node by node.
  std::vector<int> gpu_indices;
  // Nothing else runs on its nodes meanwhile; else only its GPUs are held (a job
  // without GPUs always holds its nodes).
  bool exclusive_node = true;
  Duration timeout{0};
  int repetition = 0;
  uint64_t seed = 0;
  // Hardware counters are read beside each result.
  bool counters = false;
  // NCCL's environment variables for the runners.
  std::map<std::string, std::string> nccl;
  // Its GPUs may be of several models.
  bool mixed_gpus = false;
};

// True if more nodes may run the job than it needs.
inline bool HasChoice(const NewJob& job) {
  return job.candidate_node_ids.size() > static_cast<size_t>(job.node_count);
}

struct NewCampaign {
  std::string campaign_id;
  std::string request_id;
  // Its left_out becomes the campaign's.
  v1::CampaignSpec spec;
  // At least one. Every repetition has the same jobs in the same order.
  std::vector<NewJob> jobs;
};

// Results that were measured elsewhere: a campaign that has ended.
struct ImportedCampaign {
  NewCampaign campaign;
  // One for every case of every job, each with its job and epoch 1.
  std::vector<v1::CaseResult> results;
};

// One failed attempt, kept on the job so that the next one can go elsewhere.
struct AttemptFailure {
  v1::FailureClass failure_class = v1::FAILURE_CLASS_UNSPECIFIED;
  std::string reason;
  std::vector<std::string> node_ids;       // The placement.
  std::string node_id;                     // That the failure names; empty if none.
  std::vector<std::string> also_node_ids;  // At fault as well.
};

// A job under lease.
struct LeasedJob {
  std::string campaign_id;
  NewJob job;
  int64_t epoch = 0;
  // The placement in rank order.
  std::vector<std::string> node_ids;
  // Cases of `job` that have a result already.
  std::vector<int> done_cases;
  // Attempts made before this one that failed.
  std::vector<AttemptFailure> failures;
  int retries = 0;  // Of the campaign.
  bool cancel_requested = false;
};

struct JobEpoch {
  std::string job_id;
  int64_t epoch = 0;
  auto operator<=>(const JobEpoch&) const = default;
};

// What becomes of a job whose attempt is over.
enum class Disposition { kSucceeded, kFailed, kSkipped, kCancelled, kRequeue };

struct FinishedAttempt {
  JobEpoch job;
  Disposition disposition = Disposition::kSucceeded;
  std::optional<v1::Failure> failure;
  std::vector<std::string> also_node_ids;  // At fault beside the node that the failure names.
  // kRequeue: nodes that the next attempt avoids if other candidates exist, how long it
  // waits, and whether it goes to the nodes of this one if they are there.
  std::vector<std::string> avoid_node_ids;
  Duration delay{0};
  bool same_nodes = false;
};

struct FinishOutcome {
  // False: the epoch was not held any more, and nothing changed.
  bool held = false;
  std::string campaign_id;
  // True if this was the campaign's last open job.
  bool campaign_ended = false;
};

// One page of anything, in a stable order.
template <typename T>
struct Page {
  std::vector<T> items;
  // Opaque; empty on the last page.
  std::string next_token;
};

struct PageRequest {
  // At most; fewer where they are large, as page_token.h says.
  int size = 100;
  std::string token;
};

}  // namespace assay::storage
