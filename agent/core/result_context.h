// Completes the runner program's results with what the agent knows: the hardware, the driver and
// the provenance.
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
  // The state of the GPUs of this node's ranks just before the job, in rank order.
  std::vector<v1::GpuInventory> gpus;
  // Warnings of the preflight, which become condition flags.
  std::vector<std::string> flags;
  // The result of EffectiveNccl.
  std::map<std::string, std::string> nccl;
};

// Fills in the job, the benchmark, the environment and the provenance of a runner's result. Keeps
// what the runner knows better than the agent: software versions, clock locks, measurement
// conditions, and the GPUs of other nodes.
void CompleteResult(const ResultContext& context, v1::CaseResult* result);

// Returns how the GPUs of the job's ranks are connected: "none", "single", "nvlink", "pcie" or
// "network". Returns "nvlink" only if every pair of these GPUs is connected by NVLink.
std::string TopologyClass(const v1::NodeInventory& inventory, const v1::JobSpec& job);

}  // namespace assay::agent
