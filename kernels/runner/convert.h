// The runner's structures as messages of assay.v1.
#pragma once

#include "assay/v1/runner.pb.h"
#include "kernels/registry.h"
#include "kernels/runner/case_report.h"

namespace assay {

// Without case_index, which the caller knows, and without what only the agent
// knows (job, epoch, provenance, node count, driver version).
v1::CaseResult ToMessage(const CaseReport& report);

v1::RunnerDescription DescribeBenchmarks(const Registry& registry);

}  // namespace assay
