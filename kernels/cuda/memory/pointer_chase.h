// The work of one iteration of pointer_chase, for its declaration and its kernel.
#pragma once

#include <cstdint>

namespace assay {

// Loads per iteration: so many that the cost of reading the clock and of the loop is negligible.
inline constexpr int64_t kChaseLoads = 16384;

}  // namespace assay
