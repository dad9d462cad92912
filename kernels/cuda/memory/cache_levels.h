// Checks which cache level a working set belongs to, so that cache_bandwidth never reports one
// level's figure under the name of another. Plain C++, needs no GPU.
#pragma once

#include <cstdint>
#include <string>

#include "common/status.h"

namespace assay {

// The largest L1 and shared memory of a multiprocessor of any GPU, in bytes: an upper bound for
// working sets of one multiprocessor, with its reason for users.
inline constexpr int64_t kLargestL1 = 256 * 1024;
inline constexpr const char* kLargestL1Reason =
    "the largest L1 and shared memory of a multiprocessor of any GPU";

// Sizes of a GPU's cache levels in bytes.
struct CacheSizes {
  int64_t l1_bytes = 0;                // Per multiprocessor: UnifiedL1Bytes.
  int64_t shared_bytes_per_block = 0;  // At most.
  int64_t l2_bytes = 0;
};

// Returns the combined size in bytes of L1 and shared memory per multiprocessor for compute
// capability major.minor. For an unknown one, returns the largest of any known GPU.
int64_t UnifiedL1Bytes(int major, int minor);

// Checks that a working set of `bytes` (l1, shared: per multiprocessor) belongs to `level` (none,
// l1, shared, l2, hbm) on a GPU with `sizes`. INVALID_ARGUMENT says what would fit.
Status CheckLevel(const std::string& level, int64_t bytes, const CacheSizes& sizes);

}  // namespace assay
