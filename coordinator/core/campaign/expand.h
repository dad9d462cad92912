// From a campaign as the user wrote it to the jobs that are stored: every fault found
// at once, or every job.
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

// Limits of one campaign.
inline constexpr int64_t kMaxCases = 10'000;
inline constexpr int64_t kMaxJobs = 10'000;
// Cases times the placements and repetitions that run them.
inline constexpr int64_t kMaxCaseRuns = 250'000;

struct Expansion {
  // Repetition 1 of everything precedes repetition 2; then in the order of the file.
  std::vector<storage::NewJob> jobs;
  // Cases to run, over all jobs.
  int64_t case_runs = 0;
  // What `unplaceable: skip` leaves out, in the order of the spec.
  std::vector<v1::LeftOut> left_out;
};

// Judges `spec` against the connected nodes of `fleet` and what they can run, and makes
// its jobs. INVALID_ARGUMENT has one violation a fault with its line. Counts are
// computed before anything is made, so that an exploding matrix costs nothing.
Result<Expansion> ExpandCampaign(const v1::CampaignSpec& spec, const std::vector<v1::Node>& fleet);

// What the nodes can run, by name: the newest version of each schema, without reason
// why a single node cannot. Nodes' schemas that make no sense are left out.
std::vector<v1::BenchmarkSchema> FleetSchemas(const std::vector<v1::Node>& nodes);

}  // namespace assay::coordinator
