// Checks that all ranks of a gang (processes that run a collective together) have the same software
// and GPU model. Different drivers, NCCL versions or NCCL settings can make ranks hang, or fail
// with errors that do not name the cause.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/status.h"
#include "gang/peers.h"
#include "kernels/benchmark.h"

namespace assay {

// Versions and settings that must be the same at all ranks, by name: "NCCL" -> "2.28.9".
using Versions = std::map<std::string, std::string>;

// Returns this process's versions of everything that must match across ranks: the runner and, for
// GPU benchmarks, the driver, the CUDA runtime and NCCL. Includes the NCCL_* variables that are
// set, except those that may differ between hosts.
Versions OwnVersions(Resource resource);

// Checks that all ranks have the same versions. All ranks must call this, and all receive the same
// result. If versions differ, returns FAILED_PRECONDITION (VERSION_MISMATCH), which lists the ranks
// with each version. Returns a different error if a rank was lost.
Status CheckVersions(Peers& peers, const Versions& mine);

// The GPU of one rank. Both fields are empty if the rank has no GPU.
struct RankGpu {
  std::string uuid;   // "GPU-..."; empty if unknown.
  std::string model;  // With its form factor: "H200 SXM".
};

// Returns the first GPU that this process may use. If the benchmark uses no GPU, all fields of the
// result are empty.
RankGpu OwnGpu(Resource resource);

// Returns the GPUs of all ranks in rank order. All ranks must call it.
Result<std::vector<RankGpu>> GatherGpus(Peers& peers, const RankGpu& mine);

// Returns FAILED_PRECONDITION (MIXED_GPUS) if the ranks do not all have the same GPU model. The
// message lists the models, as in "the GPU is H100 SXM at ranks 0, 1 and H200 SXM at ranks 2, 3".
Status CheckOneModel(const std::vector<RankGpu>& gpus);

}  // namespace assay
