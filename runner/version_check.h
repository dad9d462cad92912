// Checks that the ranks of a gang have the same software and GPUs of one model. Ranks with
// different drivers, versions or settings of NCCL hang, or fail with errors that do not name the
// cause.
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

// Returns the versions of this process: that of the runner and, for benchmarks on GPUs, those of
// driver, CUDA runtime and NCCL, and the NCCL variables that are set, except those that differ
// between hosts by design.
Versions OwnVersions(Resource resource);

// Compares the versions of all ranks. All ranks must call it and get the same answer: OK,
// FAILED_PRECONDITION (VERSION_MISMATCH) that lists which ranks have which version, or the loss of
// a rank.
Status CheckVersions(Peers& peers, const Versions& mine);

// The GPU of one rank. Both fields are empty for a rank without one.
struct RankGpu {
  std::string uuid;   // "GPU-..."; empty if unknown.
  std::string model;  // With its form factor: "H200 SXM".
};

// Returns the first GPU that this process may use; empty for benchmarks that use none.
RankGpu OwnGpu(Resource resource);

// Returns the GPUs of all ranks in rank order. All ranks must call it.
Result<std::vector<RankGpu>> GatherGpus(Peers& peers, const RankGpu& mine);

// Returns FAILED_PRECONDITION (MIXED_GPUS) if the ranks have GPUs of several models: "the GPU is
// H100 SXM at ranks 0, 1 and H200 SXM at ranks 2, 3".
Status CheckOneModel(const std::vector<RankGpu>& gpus);

}  // namespace assay
