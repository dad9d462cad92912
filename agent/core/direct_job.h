// A job that a caller starts on one agent, without a coordinator.
#pragma once

#include "assay/v1/agent_service.pb.h"
#include "assay/v1/inventory.pb.h"
#include "assay/v1/job.pb.h"
#include "common/status.h"

namespace assay::agent {

// Returns the job of one case that `request` describes on `node`: parameters checked and completed
// from the schema, GPUs chosen, a new job id. NOT_FOUND lists the known benchmarks,
// FAILED_PRECONDITION says why this node cannot run it, INVALID_ARGUMENT has one violation per
// error.
Result<v1::JobSpec> PlanDirectJob(const v1::NodeDescription& node,
                                  const v1::RunJobRequest& request);

}  // namespace assay::agent
