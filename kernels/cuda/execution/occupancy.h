// The work of one iteration of occupancy, for its declaration and its kernel.
#pragma once

#include <cstdint>

namespace assay {

inline constexpr int64_t kOccupancyRowBytes = 128;  // One load per warp.
inline constexpr int64_t kOccupancySteps = 32;      // Rows that a warp visits.

}  // namespace assay
