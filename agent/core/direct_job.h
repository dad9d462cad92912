// Plans a job that a caller starts directly on one agent, without a coordinator.
#pragma once

#include "assay/v1/agent_service.pb.h"
#include "assay/v1/inventory.pb.h"
#include "assay/v1/job.pb.h"
#include "common/status.h"

namespace assay::agent {

// Turns a RunJob request into a job with a single case (one run of a benchmark with fixed
// parameters). Fills in missing parameters, selects GPUs and creates a job id. Errors:
//   NOT_FOUND            The benchmark is unknown. The error lists the known ones.
//   INVALID_ARGUMENT     The error has one violation per invalid field.
//   FAILED_PRECONDITION  This node cannot run the benchmark.
Result<v1::JobSpec> PlanDirectJob(const v1::NodeDescription& node,
                                  const v1::RunJobRequest& request);

}  // namespace assay::agent
