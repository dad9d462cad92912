// Timings of a gang's iterations by rank, collected after the timed window, and the rank that the
// others wait for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "kernels/benchmark.h"

namespace assay {

// One rank's seconds inside the iterations of the diagnosis.
struct RankTimes {
  int rank = 0;
  double median = 0;
  double p05 = 0;
  double p95 = 0;
  int64_t n = 0;
  // How long this rank waited for others: by how much longer it was inside than the rank that was
  // inside for the shortest time. The median over the iterations.
  double wait = 0;
};

// The rank that comes last. The others wait for it inside the collective; it waits for none.
struct SlowRank {
  int rank = 0;
  // How much longer the others were inside. The median over the iterations.
  double others_wait_seconds = 0;
};

// Returns the times of each rank in rank order. `inside` has the seconds of each rank by iteration.
// INVALID_ARGUMENT if the ranks have different numbers of iterations.
Result<std::vector<RankTimes>> TimesOfRanks(const std::vector<std::vector<double>>& inside);

// Returns the rank that the others wait for beyond noise: by more than 5 us, 3 scaled median
// absolute deviations of their wait, and 5% of the time that the rank itself is inside. `inside` is
// as for TimesOfRanks.
std::optional<SlowRank> FindSlowRank(const std::vector<std::vector<double>>& inside);

// The place where a rank ran.
struct RankPlace {
  std::string host;   // The host's own name.
  int gpu_index = 0;  // NVML's number of the GPU; without NVML, CUDA's ordinal.
};

// Returns the place of this process, whose GPU has this UUID ("GPU-..."; empty if unknown).
RankPlace PlaceOf(const RunContext& context, const std::string& gpu_uuid);

struct GangReport {
  std::vector<RankTimes> times;  // In rank order; empty if the case does not report times.
  std::vector<RankPlace> places;
  std::optional<SlowRank> slow;
  std::optional<CollectiveChoice> choice;  // Rank 0's.
};

// Runs the case's diagnosis on all ranks, which must all call it: as many iterations of
// `iteration_seconds` (rank 0's) as fit into one second, 16 to 64. The report is complete at rank 0
// only.
Result<GangReport> DiagnoseRanks(Case& prepared, const RunContext& context, const RankPlace& place,
                                 double iteration_seconds);

}  // namespace assay
