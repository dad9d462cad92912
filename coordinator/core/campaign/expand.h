// Expands a campaign as the user wrote it into the jobs that are stored, or finds all its errors at
// once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/v1/campaign_service.pb.h"
#include "assay/v1/node_service.pb.h"
#include "common/status.h"
#include "coordinator/core/campaign/accept_rule.h"
#include "storage/types.h"

namespace assay::coordinator {

// Limits per campaign.
inline constexpr int64_t kMaxCases = 10'000;
inline constexpr int64_t kMaxJobs = 10'000;
// Cases times the placements and repetitions that run them.
inline constexpr int64_t kMaxCaseRuns = 250'000;

struct Expansion {
  // All jobs of repetition 1 come before those of repetition 2. Within a repetition the order is
  // that of the file.
  std::vector<storage::NewJob> jobs;
  // Number of cases to run, summed over all jobs.
  int64_t case_runs = 0;
  // Cases that `unplaceable: skip` leaves out, in the order of the spec.
  std::vector<v1::LeftOut> left_out;
};

// Checks `spec` against the connected nodes of `fleet` and their benchmarks, and makes its jobs.
// INVALID_ARGUMENT carries one violation per error, with its line. Counts are computed before any
// case is made, so an exploding matrix costs nothing.
Result<Expansion> ExpandCampaign(const v1::CampaignSpec& spec, const std::vector<v1::Node>& fleet);

// Returns the newest version of each schema that the nodes have, by name, without the reasons why a
// single node cannot run it. Malformed schemas are ignored.
std::vector<v1::BenchmarkSchema> FleetSchemas(const std::vector<v1::Node>& nodes);

}  // namespace assay::coordinator
