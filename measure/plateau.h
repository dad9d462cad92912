// Finds the levels of a memory hierarchy in latencies over growing working sets: each
// level that holds the working set gives a plateau.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"

namespace assay {

// Latency of one working set.
struct LatencyPoint {
  int64_t bytes = 0;
  double latency = 0;  // In any unit.
};

struct Plateau {
  int64_t first_bytes = 0;  // Smallest working set on it.
  int64_t last_bytes = 0;   // Largest: what the level holds, at the resolution of the sweep.
  double latency = 0;       // Median.
  int64_t points = 0;
};

// Plateaus in `points`, which ascend in bytes: maximal runs of at least `min_points`
// points whose latencies all lie within a factor of 1 + `tolerance`, longest first
// taken, then put in the order of their bytes. What lies between is transition.
std::vector<Plateau> FindPlateaus(const std::vector<LatencyPoint>& points, double tolerance,
                                  int64_t min_points);

// The plateau of `level`, "l1" (the first), "dram" (the last) or "l2" (the one between
// that spans most octaves). NOT_FOUND (NO_PLATEAU) if there are fewer than that takes;
// the error lists those that were found.
Result<Plateau> PlateauOf(const std::string& level, const std::vector<Plateau>& plateaus);

}  // namespace assay
