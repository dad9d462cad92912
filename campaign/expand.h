// Turns a campaign (the benchmarks, parameters and nodes that a user chose) into jobs. If the
// campaign has errors, reports all of them at once.
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
// Limit on the number of case runs of a campaign. Each case (a benchmark with fixed parameters)
// runs once for every placement and repetition.
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

// Creates the jobs of the campaign `spec` for those nodes of `fleet` that match it. Absent nodes
// get jobs only with `absent: wait`. If the spec has errors, returns INVALID_ARGUMENT with one
// violation per error, each with its line in the campaign file. If all errors are about absent or
// missing nodes, returns FAILED_PRECONDITION with reason NODES_ABSENT. If all of them are about
// nodes that should run a job together but share no network, the reason is NO_SHARED_NETWORK.
Result<Expansion> ExpandCampaign(const v1::CampaignSpec& spec, const std::vector<v1::Node>& fleet);

// Checks the parts of a campaign that do not depend on nodes, such as parameters and accept rules.
// `benchmarks` are the benchmarks of the fleet. Returns the number of cases, each counted once
// regardless of how often it runs, or the errors of ExpandCampaign.
Result<int64_t> CheckCampaign(const v1::CampaignSpec& spec,
                              const std::vector<v1::BenchmarkSchema>& benchmarks);

// Returns the campaign as it would be created, for `submit --dry-run` and `check`. It has no id and
// no state.
v1::Campaign Preview(const v1::CampaignSpec& spec, const Expansion& expansion);

}  // namespace assay::campaign
