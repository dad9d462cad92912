// Adds to a runner's result the hardware and driver that produced it (hashed into the series) and
// its provenance (stored next to the series).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "assay/v1/inventory.pb.h"
#include "assay/v1/job.pb.h"
#include "assay/v1/result.pb.h"

namespace assay::agent {

struct ResultContext {
  v1::NodeDescription node;
  v1::JobSpec job;
  // The GPUs of this node's ranks just before the job, in rank order.
  std::vector<v1::GpuInventory> gpus;
  // Warnings of the preflight, which become condition flags.
  std::vector<std::string> flags;
  // The result of EffectiveNccl.
  std::map<std::string, std::string> nccl;
};

// Fills job, epoch, benchmark, environment and provenance. Keeps the facts that the runner knows
// better: software versions, clock locks, conditions, the GPUs of ranks on other nodes.
void CompleteResult(const ResultContext& context, v1::CaseResult* result);

// Returns how the job's ranks reach each other: "none", "single", "nvlink", "pcie" or "network". It
// is "nvlink" only if every pair of the GPUs has NVLink.
std::string TopologyClass(const v1::NodeInventory& inventory, const v1::JobSpec& job);

}  // namespace assay::agent
