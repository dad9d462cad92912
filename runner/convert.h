// The runner's structures as messages of assay.v1.
#pragma once

#include <vector>

#include "assay/v1/runner.pb.h"
#include "kernels/registry.h"
#include "runner/case_report.h"
#include "runner/rank_gpus.h"

namespace assay {

// Without case_index, which the caller knows, and without what only the agent
// knows (job, epoch, provenance, node count, driver version).
v1::CaseResult ToMessage(const CaseReport& report);

// The GPUs of a gang's ranks, by rank, as the result's provenance: their UUIDs if each is
// known, and their models if each is known and they are not all the same.
void AddGpus(const std::vector<RankGpu>& gpus, v1::CaseResult* result);

v1::RunnerDescription DescribeBenchmarks(const Registry& registry);

}  // namespace assay
