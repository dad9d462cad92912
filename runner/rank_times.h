// Measures how long each rank of a gang (processes that run a collective together) spends in a
// collective, and finds the rank that the others wait for. This runs after the timed measurement.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "kernels/benchmark.h"

namespace assay {

// Statistics of the seconds that one rank spent in the collective, over the iterations of
// DiagnoseRanks().
struct RankTimes {
  int rank = 0;
  double median = 0;
  double p05 = 0;
  double p95 = 0;
  int64_t n = 0;
  // Seconds that this rank waited for other ranks in the collective. In each iteration, this is the
  // time that the rank spent there minus the shortest time of any rank. The value is the median
  // over all iterations.
  double wait = 0;
};

// The rank that enters the collective last. The other ranks wait for it there, and it waits for
// none.
struct SlowRank {
  int rank = 0;
  // The additional time that the other ranks spent there, as a median over the iterations.
  double others_wait_seconds = 0;
};

// Returns statistics of each rank's times, in rank order. `inside` contains, for each rank, the
// seconds that it spent in the collective in each iteration. Returns INVALID_ARGUMENT if the ranks
// have different numbers of iterations.
Result<std::vector<RankTimes>> TimesOfRanks(const std::vector<std::vector<double>>& inside);

// Returns the rank that the other ranks wait for, if there is one. `inside` contains, for each
// rank, the seconds that it spent in the collective in each iteration. To exceed noise, the wait
// must be longer than each of these: 5 us, three scaled median absolute deviations of the wait, and
// 5% of the slow rank's own time.
std::optional<SlowRank> FindSlowRank(const std::vector<std::vector<double>>& inside);

// The place where a rank ran.
struct RankPlace {
  std::string host;   // The host's own name.
  int gpu_index = 0;  // NVML's number of the GPU; without NVML, CUDA's ordinal.
};

// Returns the place of this process. `gpu_uuid` is the UUID of its GPU ("GPU-...", empty if
// unknown).
RankPlace PlaceOf(const RunContext& context, const std::string& gpu_uuid);

struct GangReport {
  std::vector<RankTimes> times;  // In rank order; empty if the case does not report times.
  std::vector<RankPlace> places;
  std::optional<SlowRank> slow;
  std::optional<CollectiveChoice> choice;  // Rank 0's.
};

// Runs additional iterations on all ranks to find out which rank is slow. All ranks must call this.
// Runs as many iterations as fit in one second if each takes `iteration_seconds` (rank 0's value is
// used), but at least 16 and at most 64. Only rank 0 gets the complete report.
Result<GangReport> DiagnoseRanks(Case& prepared, const RunContext& context, const RankPlace& place,
                                 double iteration_seconds);

}  // namespace assay
