// The sizes of one iteration, which a benchmark's declaration and its kernel share.
#pragma once

#include <cstdint>

namespace assay {

inline constexpr int kMaxBranches = 32;
inline constexpr int64_t kDivergenceSteps = 1024;  // Multiply-adds per thread.

inline constexpr int64_t kOccupancyRowBytes = 128;  // One load per warp.
inline constexpr int64_t kOccupancySteps = 32;      // Rows that a warp visits.
// The largest shared memory per block on any GPU, available on compute capability 9.0 and 10.0
// (CUDA C++ Programming Guide 13.0, technical specifications).
inline constexpr int64_t kLargestBlockShared = 227 * 1024;

}  // namespace assay
