// Checks which cache level a working set belongs to, so that cache_bandwidth never reports one
// level's figure under the name of another. Plain C++, needs no GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"
#include "model/parameter.h"

namespace assay {

// Sizes of a GPU's cache levels in bytes.
struct CacheSizes {
  int64_t l1_bytes = 0;                // Per multiprocessor: UnifiedL1Bytes.
  int64_t shared_bytes_per_block = 0;  // At most.
  int64_t l2_bytes = 0;
};

// Returns the combined size in bytes of L1 and shared memory per multiprocessor for compute
// capability major.minor. For an unknown one, returns the largest of any known GPU.
int64_t UnifiedL1Bytes(int major, int minor);

// Of a working set's bytes, where `parameter` is one of `words`, which are of a multiprocessor's
// own memory: what no GPU has there.
Limit PrivateLimit(const std::string& parameter, std::vector<std::string> words);

// Checks that a working set of `bytes` (l1, shared: per multiprocessor) belongs to `level` (none,
// l1, shared, l2, hbm) on a GPU with `sizes`. INVALID_ARGUMENT says what would fit.
Status CheckLevel(const std::string& level, int64_t bytes, const CacheSizes& sizes);

}  // namespace assay
