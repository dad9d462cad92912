// Measures how long each rank of a gang (processes that run a collective together) spends in the
// collective, and finds the rank that the others wait for. Runs after the timed measurement.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "kernels/benchmark.h"

namespace assay {

// Statistics of the time, in seconds, that one rank spent in the collective operation. They cover
// all iterations of DiagnoseRanks().
struct RankTimes {
  int rank = 0;
  double median = 0;
  double p05 = 0;
  double p95 = 0;
  int64_t n = 0;
  // The median time, in seconds, that this rank waited for others. In each iteration, the rank with
  // the shortest time in the collective operation is assumed not to have waited. Each rank's wait
  // is its own time minus that shortest time.
  double wait = 0;
};

// The rank that enters a collective operation last. The other ranks have to wait for it.
struct SlowRank {
  int rank = 0;
  // The additional time that the other ranks spent there, as a median over the iterations.
  double others_wait_seconds = 0;
};

// Returns statistics of each rank's times, in rank order. `inside` holds the seconds spent in the
// collective operation, by rank and iteration. Returns INVALID_ARGUMENT if the ranks have different
// numbers of iterations.
Result<std::vector<RankTimes>> TimesOfRanks(const std::vector<std::vector<double>>& inside);

// Returns the rank that the others wait for, if there is one. `inside` holds the seconds spent in
// the collective operation, by rank and iteration. To stand out from noise, the wait must exceed
// three scaled median absolute deviations, 5 us, and 5% of the slow rank's own time.
std::optional<SlowRank> FindSlowRank(const std::vector<std::vector<double>>& inside);

// The place where a rank ran.
struct RankPlace {
  std::string host;   // The host's own name.
  int gpu_index = 0;  // NVML's number of the GPU; without NVML, CUDA's ordinal.
};

// Returns the host and GPU on which this process runs. `gpu_uuid` is the UUID of its GPU
// ("GPU-..."), or empty if unknown.
RankPlace PlaceOf(const RunContext& context, const std::string& gpu_uuid);

struct GangReport {
  std::vector<RankTimes> times;  // In rank order; empty if the case does not report times.
  std::vector<RankPlace> places;
  std::optional<SlowRank> slow;
  std::optional<CollectiveChoice> choice;  // Rank 0's.
};

// Runs more iterations on all ranks to find out whether one rank is slower than the others. All
// ranks must call this. Runs for about one second, but for at least 16 and at most 64 iterations.
// The number depends on rank 0's `iteration_seconds`. Only rank 0 receives the complete report.
Result<GangReport> DiagnoseRanks(Case& prepared, const RunContext& context, const RankPlace& place,
                                 double iteration_seconds);

}  // namespace assay
