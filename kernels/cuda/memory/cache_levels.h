// Checks that a working set fits in the cache level under test, so that cache_bandwidth never
// reports the bandwidth of one level as that of another. This file needs neither CUDA nor a GPU.
#pragma once

#include <cstdint>
#include <string>

#include "common/status.h"

namespace assay {

// The largest combined L1 cache and shared memory of a multiprocessor on any GPU, in bytes. It is
// the upper limit for the working set of one multiprocessor. kLargestL1Reason explains the limit to
// users.
inline constexpr int64_t kLargestL1 = 256 * 1024;
inline constexpr const char* kLargestL1Reason =
    "the largest L1 and shared memory of a multiprocessor of any GPU";

// The sizes of a GPU's cache levels, in bytes.
struct CacheSizes {
  int64_t l1_bytes = 0;                // Per multiprocessor: UnifiedL1Bytes.
  int64_t shared_bytes_per_block = 0;  // At most.
  int64_t l2_bytes = 0;
};

// Returns the size in bytes of a multiprocessor's combined L1 cache and shared memory for compute
// capability major.minor, or the largest known size if that capability is unknown.
int64_t UnifiedL1Bytes(int major, int minor);

// Checks that a working set of `bytes` bytes belongs to the cache level `level` of a GPU with cache
// sizes `sizes`: for "hbm", it must be large enough; for all other levels, small enough. `level` is
// "l1", "shared" (both in bytes per multiprocessor), "l2", "hbm", or "none" for no check. If the
// set does not belong to the level, returns INVALID_ARGUMENT with a size that does.
Status CheckLevel(const std::string& level, int64_t bytes, const CacheSizes& sizes);

}  // namespace assay
