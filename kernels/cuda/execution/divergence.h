// The work of one iteration of divergence, for its declaration and its kernel.
#pragma once

#include <cstdint>

namespace assay {

inline constexpr int kMaxBranches = 32;
inline constexpr int64_t kDivergenceSteps = 1024;  // Multiply-adds per thread.

}  // namespace assay
