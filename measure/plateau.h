// Finds the levels of a memory hierarchy from load latencies. When latency is plotted against the
// size of the working set, each cache level appears as a plateau.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"

namespace assay {

// The load latency of a working set of one size.
struct LatencyPoint {
  int64_t bytes = 0;
  double latency = 0;  // In any unit.
};

struct Plateau {
  int64_t first_bytes = 0;  // The smallest working set of the plateau.
  int64_t last_bytes = 0;   // The largest: the level's capacity at the resolution of the sweep.
  double latency = 0;       // Median.
  int64_t points = 0;
};

// Returns the plateaus in `points`, sorted by size, as `points` itself must be. A plateau is a
// maximal run of at least `min_points` points whose latencies differ by at most the fraction
// `tolerance`. Of overlapping runs, only the longest is a plateau. Points outside all plateaus are
// transitions between levels.
std::vector<Plateau> FindPlateaus(const std::vector<LatencyPoint>& points, double tolerance,
                                  int64_t min_points);

// Returns the plateau of a level of the memory hierarchy. "l1" is the first plateau, "dram" is the
// last, and "l2" is the one in between that covers the widest range of sizes. If there are too few
// plateaus, returns NOT_FOUND (NO_PLATEAU), listing those that were found.
Result<Plateau> PlateauOf(const std::string& level, const std::vector<Plateau>& plateaus);

}  // namespace assay
