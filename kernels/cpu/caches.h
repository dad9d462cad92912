// Whether the host's caches hold what an iteration reads and writes: one rule for what a
// result says of its cache and for what its time is compared with.
#pragma once

#include "kernels/platform.h"

namespace assay {

// `bytes` are all that one iteration touches. From twice the last-level cache on, little of
// it is still there when the next iteration comes. False if the caches are not known.
inline bool StaysInCpuCaches(double bytes) {
  return bytes < 2 * static_cast<double>(Cpu().last_level_cache_bytes.value_or(0));
}

}  // namespace assay
