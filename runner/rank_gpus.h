// Which GPU each rank of a gang has: rank 0 writes the results, and sees its own alone.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"
#include "gang/peers.h"
#include "kernels/benchmark.h"

namespace assay {

// The GPU of one rank; both are empty for a rank without one.
struct RankGpu {
  std::string uuid;   // "GPU-..."; empty if unknown.
  std::string model;  // With its form factor: "H200 SXM".
};

// This process', the first that it may use; empty for benchmarks that use none.
RankGpu OwnGpu(Resource resource);

// Called by all ranks, which all get those of all, by rank. INTERNAL (BAD_MESSAGE) names a
// rank that sent something else.
Result<std::vector<RankGpu>> GatherGpus(Peers& peers, const RankGpu& mine);

// FAILED_PRECONDITION (MIXED_GPUS) unless all are of one model: "the GPU is H100 SXM at
// ranks 0, 1 and H200 SXM at ranks 2, 3".
Status CheckOneModel(const std::vector<RankGpu>& gpus);

}  // namespace assay
