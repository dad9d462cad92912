// The sizes of one iteration that both the declaration and the kernel of a benchmark need.
#pragma once

#include <cstdint>
#include <string>

namespace assay {

inline constexpr int kBanks = 32;  // Each serves one word of 4 bytes per cycle.
// The number of warps. With so many, the banks limit the speed rather than the latency of a load.
inline constexpr int kBankConflictWarps = 8;
// The number of times that each warp loads the same rows.
inline constexpr int kBankConflictRounds = 256;
inline constexpr int kBankConflictRows = 16;

// The default number of threads per block of elementwise kernels. On an H200, many small blocks
// reached a higher bandwidth than fewer, larger ones.
inline constexpr int kElementwiseThreads = 128;

// The memory levels that cache_bandwidth can read. kL2 is also used if the parameter "level" is
// "none": its loads bypass the L1 cache, and the working set may be in either the L2 or memory.
enum class CacheLevel { kRegisters, kL1, kL2, kMemory, kShared };

inline CacheLevel CacheLevelOf(const std::string& name) {
  if (name == "registers") return CacheLevel::kRegisters;
  if (name == "l1") return CacheLevel::kL1;
  if (name == "shared") return CacheLevel::kShared;
  return name == "hbm" ? CacheLevel::kMemory : CacheLevel::kL2;
}

// Returns how many times one iteration must read a working set of `bytes` bytes to read at least 8
// GiB in total, so that the time of the kernel launch is negligible.
inline int64_t CachePasses(int64_t bytes) {
  constexpr int64_t kIterationBytes = int64_t{8} << 30;
  return (kIterationBytes + bytes - 1) / bytes;
}

// The number of loads per iteration, large enough to make the cost of the loop and of reading the
// clock negligible.
inline constexpr int64_t kChaseLoads = 16384;
// The number of dependent register instructions per iteration, larger than the number of loads
// because each instruction takes only a few cycles.
inline constexpr int64_t kRegisterChaseSteps = 16 * kChaseLoads;

// The work of one iteration of cache_bandwidth with level "registers": the number of fused
// multiply-adds in all threads, and the bytes of the three operands that each one reads.
inline constexpr int64_t kRegisterFmas = int64_t{1} << 35;
inline constexpr int64_t kFmaOperandBytes = 12;

}  // namespace assay
