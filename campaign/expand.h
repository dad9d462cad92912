// Turns a campaign (the benchmarks, parameters and nodes that a user chose) into jobs. Reports all
// errors in the campaign at once.
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
// Limit on the number of case runs in a campaign. Each case (a benchmark with fixed parameters)
// runs once per placement and repetition.
inline constexpr int64_t kMaxCaseRuns = 250'000;

struct Expansion {
  // The jobs in the order in which they should run: all of repetition 1, then all of repetition 2,
  // and so on. Within a repetition, they follow the order of the campaign file.
  std::vector<storage::NewJob> jobs;
  // Number of cases to run, summed over all jobs.
  int64_t case_runs = 0;
  // Cases that `unplaceable: skip` leaves out, in the order of the spec.
  std::vector<v1::LeftOut> left_out;
  v1::Coverage coverage;
};

// Returns true if campaigns consider the node absent because it is disconnected or cordoned
// (excluded from new jobs).
bool IsAbsent(const v1::Node& node);

// Creates the jobs of the campaign `spec` for the nodes in `fleet` that match it. Absent nodes get
// jobs only with `absent: wait`. If the spec has errors, returns INVALID_ARGUMENT with one
// violation per error, each with its line in the campaign file. Two kinds of errors are reported
// differently if there are no others:
//   FAILED_PRECONDITION, NODES_ABSENT    nodes are absent (`absent: fail`), or the number of
//                                        matching nodes is not `expect_nodes`
//   INVALID_ARGUMENT, NO_SHARED_NETWORK  nodes should run a job together but share no network
Result<Expansion> ExpandCampaign(const v1::CampaignSpec& spec, const std::vector<v1::Node>& fleet);

// Checks the parts of a campaign that do not depend on nodes, such as parameters and accept rules.
// `benchmarks` are those of the fleet. Returns the number of cases, not multiplied by placements
// and repetitions, or the same errors as ExpandCampaign.
Result<int64_t> CheckCampaign(const v1::CampaignSpec& spec,
                              const std::vector<v1::BenchmarkSchema>& benchmarks);

// Returns the campaign as it would be created, without an id or a state, for `submit --dry-run` and
// `check`.
v1::Campaign Preview(const v1::CampaignSpec& spec, const Expansion& expansion);

}  // namespace assay::campaign
