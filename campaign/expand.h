// Turns a campaign, as the user wrote it, into jobs. If the campaign has errors, reports all of
// them at once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/v1/campaign_service.pb.h"
#include "assay/v1/node_service.pb.h"
#include "campaign/accept_rule.h"
#include "common/status.h"
#include "storage/types.h"

namespace assay::campaign {

// Limits per campaign.
inline constexpr int64_t kMaxCases = 10'000;
inline constexpr int64_t kMaxJobs = 10'000;
// Limit on the sum, over all cases, of the number of times that a case runs (placements x
// repetitions).
inline constexpr int64_t kMaxCaseRuns = 250'000;

struct Expansion {
  // The jobs in the order in which they should run: all jobs of repetition 1, then all of
  // repetition 2, and so on. Within a repetition, they follow the order of the campaign file.
  std::vector<storage::NewJob> jobs;
  // Number of cases to run, summed over all jobs.
  int64_t case_runs = 0;
  // Cases that `unplaceable: skip` leaves out, in the order of the spec.
  std::vector<v1::LeftOut> left_out;
  v1::Coverage coverage;
};

// Returns true if campaigns treat the node as absent, because it is disconnected or cordoned
// (excluded from new jobs).
bool IsAbsent(const v1::Node& node);

// Creates the jobs of the campaign `spec` for the nodes of `fleet` that match and are present. With
// `absent: wait`, creates jobs for the absent nodes too. If the spec has errors, returns
// INVALID_ARGUMENT with one violation per error, each with its line in the campaign file. If the
// only errors are nodes that are absent (`absent: fail`) or do not exist (`expect_nodes`), returns
// FAILED_PRECONDITION with the reason NODES_ABSENT. If the only errors are gangs (nodes that run
// one job together) whose nodes share no network, the reason is NO_SHARED_NETWORK. Counts the
// parameter combinations before it creates any, so it rejects an oversized campaign quickly.
Result<Expansion> ExpandCampaign(const v1::CampaignSpec& spec, const std::vector<v1::Node>& fleet);

// Checks the parts of a campaign that do not depend on nodes: fields, benchmarks, parameters,
// constraints and accept rules. `benchmarks` are the benchmarks of the fleet. Returns the number of
// cases, not multiplied by placements and repetitions, or the errors of ExpandCampaign.
Result<int64_t> CheckCampaign(const v1::CampaignSpec& spec,
                              const std::vector<v1::BenchmarkSchema>& benchmarks);

// Returns the campaign as it would be created, for `submit --dry-run` and `check`. It has no id and
// no state.
v1::Campaign Preview(const v1::CampaignSpec& spec, const Expansion& expansion);

}  // namespace assay::campaign
