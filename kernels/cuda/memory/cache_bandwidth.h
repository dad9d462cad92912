// The work of one iteration of cache_bandwidth, for its declaration and its kernel.
#pragma once

#include <cstdint>
#include <string>

namespace assay {

// kL2 also serves `level: none`: loads bypass the L1, wherever the working set is.
enum class CacheLevel { kL1, kL2, kMemory, kShared };

inline CacheLevel CacheLevelOf(const std::string& name) {
  if (name == "l1") return CacheLevel::kL1;
  if (name == "shared") return CacheLevel::kShared;
  return name == "hbm" ? CacheLevel::kMemory : CacheLevel::kL2;
}

// Returns the number of times that an iteration reads a working set of `bytes`: until 8 GiB have
// been read, which takes so long that the launch is negligible.
inline int64_t CachePasses(int64_t bytes) {
  constexpr int64_t kIterationBytes = int64_t{8} << 30;
  return (kIterationBytes + bytes - 1) / bytes;
}

}  // namespace assay
