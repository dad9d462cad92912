// Finds the levels of a memory hierarchy from load latencies. When latency is plotted over the size
// of the working set, each cache level is a plateau.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"

namespace assay {

// The latency of one working set.
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

// Returns the plateaus in `points`, which must be sorted by bytes. A plateau is a maximal run of at
// least `min_points` points whose latencies differ by a factor of at most 1 + `tolerance`. Where
// runs overlap, the longest is taken first. The result is sorted by bytes; points in no plateau are
// transitions between levels.
std::vector<Plateau> FindPlateaus(const std::vector<LatencyPoint>& points, double tolerance,
                                  int64_t min_points);

// Returns the plateau of a cache level: the first for "l1", the last for "dram", and for "l2" the
// plateau between them that covers the widest range of sizes. Returns NOT_FOUND (NO_PLATEAU), with
// the plateaus that were found, if there are too few.
Result<Plateau> PlateauOf(const std::string& level, const std::vector<Plateau>& plateaus);

}  // namespace assay
