// Plans a job that a caller starts directly on one agent, without a coordinator.
#pragma once

#include "assay/v1/agent_service.pb.h"
#include "assay/v1/inventory.pb.h"
#include "assay/v1/job.pb.h"
#include "common/status.h"

namespace assay::agent {

// Turns a RunJob request into a job with one case for this node: checks and completes the
// parameters, selects GPUs and creates a job id. Returns NOT_FOUND with a list of the known
// benchmarks if the benchmark is unknown, FAILED_PRECONDITION if this node cannot run it, or
// INVALID_ARGUMENT with one violation per invalid field.
Result<v1::JobSpec> PlanDirectJob(const v1::NodeDescription& node,
                                  const v1::RunJobRequest& request);

}  // namespace assay::agent
