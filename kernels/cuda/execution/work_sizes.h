// The sizes of one iteration, which a benchmark's declaration and its kernel share.
#pragma once

#include <cstdint>

namespace assay {

inline constexpr int kMaxBranches = 32;
inline constexpr int64_t kDivergenceSteps = 1024;  // Multiply-adds per thread.

inline constexpr int64_t kOccupancyRowBytes = 128;  // One load per warp.
inline constexpr int64_t kOccupancySteps = 32;      // Rows that a warp visits.

}  // namespace assay
