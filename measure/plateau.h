// Finds the levels of a memory hierarchy in latencies over growing working sets: each level appears
// as a plateau.
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

// Returns the plateaus in `points`, which ascend in bytes. A plateau is a maximal run of at least
// `min_points` points whose latencies are all within a factor of 1 + `tolerance`. Longer runs are
// taken first; the result is sorted by bytes. Points between plateaus are transitions.
std::vector<Plateau> FindPlateaus(const std::vector<LatencyPoint>& points, double tolerance,
                                  int64_t min_points);

// Returns the plateau of `level`: "l1" (the first), "dram" (the last) or "l2" (the one between them
// that spans most octaves). NOT_FOUND (NO_PLATEAU) if there are too few; the error lists those that
// were found.
Result<Plateau> PlateauOf(const std::string& level, const std::vector<Plateau>& plateaus);

}  // namespace assay
