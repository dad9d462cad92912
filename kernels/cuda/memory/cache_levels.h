// Which working sets are of a cache's level, so that cache_bandwidth gives no level's name to
// another one's number. Plain C++: judged without a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/parameter.h"
#include "common/status.h"

namespace assay {

// What a GPU has of each level, in bytes.
struct CacheSizes {
  int64_t l1_bytes = 0;                // Of a multiprocessor: UnifiedL1Bytes.
  int64_t shared_bytes_per_block = 0;  // At most.
  int64_t l2_bytes = 0;
};

// Of a GPU of compute capability major.minor: what L1 and shared memory of a multiprocessor have
// together, in bytes; of one that is not known the most that any has.
int64_t UnifiedL1Bytes(int major, int minor);

// Of a working set's bytes, where `parameter` is one of `words`, which are of a multiprocessor's
// own memory: what no GPU has there.
Limit PrivateLimit(const std::string& parameter, std::vector<std::string> words);

// INVALID_ARGUMENT if a working set of `bytes` (l1, shared: of each multiprocessor) is not of
// `level` (none, l1, shared, l2, hbm) on the GPU that has `sizes`; says what would fit.
Status CheckLevel(const std::string& level, int64_t bytes, const CacheSizes& sizes);

}  // namespace assay
