// Plans a job that a caller starts directly on one agent, without a coordinator.
#pragma once

#include "assay/v1/agent_service.pb.h"
#include "assay/v1/inventory.pb.h"
#include "assay/v1/job.pb.h"
#include "common/status.h"

namespace assay::agent {

// Turns a RunJob request into a job with a single case (one run of a benchmark with fixed
// parameters). Fills in missing parameters, selects GPUs and creates a job id. Returns NOT_FOUND
// with a list of the known benchmarks if the benchmark is unknown, INVALID_ARGUMENT with one
// violation per invalid field, or FAILED_PRECONDITION if this node cannot run the benchmark.
Result<v1::JobSpec> PlanDirectJob(const v1::NodeDescription& node,
                                  const v1::RunJobRequest& request);

}  // namespace assay::agent
