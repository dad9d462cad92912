// The sizes of one iteration, which a benchmark's declaration and its kernel share.
#pragma once

#include <cstdint>
#include <string>

namespace assay {

inline constexpr int kBanks = 32;  // Each serves one word of 4 bytes per cycle.
// Enough warps that the banks are the limit, not the latency of a load.
inline constexpr int kBankConflictWarps = 8;
// Loads per warp: rounds over the same rows.
inline constexpr int kBankConflictRounds = 256;
inline constexpr int kBankConflictRows = 16;

// Threads per block of elementwise kernels by default. On an H200, many small blocks reached a
// higher bandwidth than fewer, larger ones.
inline constexpr int kElementwiseThreads = 128;

// kL2 also serves `level: none`: loads bypass the L1, wherever the working set is.
enum class CacheLevel { kRegisters, kL1, kL2, kMemory, kShared };

inline CacheLevel CacheLevelOf(const std::string& name) {
  if (name == "registers") return CacheLevel::kRegisters;
  if (name == "l1") return CacheLevel::kL1;
  if (name == "shared") return CacheLevel::kShared;
  return name == "hbm" ? CacheLevel::kMemory : CacheLevel::kL2;
}

// Returns how many times one iteration must read a working set of `bytes` bytes to read at least 8
// GiB in total. The time of the kernel launch is then negligible.
inline int64_t CachePasses(int64_t bytes) {
  constexpr int64_t kIterationBytes = int64_t{8} << 30;
  return (kIterationBytes + bytes - 1) / bytes;
}

// Loads per iteration: so many that the cost of reading the clock and of the loop is negligible.
inline constexpr int64_t kChaseLoads = 16384;
// Dependent instructions on registers per iteration. More than loads, because each takes only a few
// cycles.
inline constexpr int64_t kRegisterChaseSteps = 16 * kChaseLoads;

// Fused multiply-adds of one iteration of cache_bandwidth with level registers, all threads
// together, and the bytes of the three operands that each reads.
inline constexpr int64_t kRegisterFmas = int64_t{1} << 35;
inline constexpr int64_t kFmaOperandBytes = 12;

}  // namespace assay
