// Timings of a gang's iterations by rank, collected after the timed window.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/benchmark.h"
#include "runner/slow_rank.h"

namespace assay {

// Where a rank ran.
struct RankPlace {
  std::string host;   // As the host names itself.
  int gpu_index = 0;  // As NVML numbers the host's GPUs; without NVML, CUDA's ordinal.
};

// This process' place, its GPU having this UUID ("GPU-..."; empty if unknown).
RankPlace PlaceOf(const RunContext& context, const std::string& gpu_uuid);

struct GangReport {
  std::vector<RankTimes> times;  // By rank; empty if the case has nothing to tell.
  std::vector<RankPlace> places;
  std::optional<SlowRank> slow;
  std::optional<CollectiveChoice> choice;  // Rank 0's.
};

// Called by all ranks: each runs the case's diagnosis, as many iterations of
// `iteration_seconds` (rank 0's) as fit into a second, 16 to 64. Whole at rank 0 only.
Result<GangReport> DiagnoseRanks(Case& prepared, const RunContext& context, const RankPlace& place,
                                 double iteration_seconds);

}  // namespace assay
