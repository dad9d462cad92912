#include "kernels/cuda/memory/cache_levels.h"

#include <utility>

namespace assay {
namespace {

constexpr int64_t kKiB = 1024;
// The minimum size of a working set that is considered to be in memory, as a multiple of the L2
// cache size. Such a set is read almost entirely from memory.
constexpr int64_t kMemoryMultiple = 8;

Status CheckAtMost(const std::string& level, int64_t bytes, int64_t most, const std::string& what) {
  if (bytes <= most) return Status::Ok();
  return InvalidArgument("bytes is " + std::to_string(bytes) + "; with level " + level +
                         " it must be at most " + std::to_string(most) + ", " + what +
                         "; level none takes any");
}

}  // namespace

// Returns sizes from the CUDA C++ Programming Guide 13.0 (shared memory capacity by compute
// capability).
int64_t UnifiedL1Bytes(int major, int minor) {
  switch (major * 10 + minor) {
    case 75:
      return 96 * kKiB;
    case 80:
    case 87:
      return 192 * kKiB;
    case 70:
    case 72:
    case 86:
    case 89:
    case 120:
    case 121:
      return 128 * kKiB;
    default:  // 9.0, 10.x, 11.0.
      return kLargestL1;
  }
}

Status CheckLevel(const std::string& level, int64_t bytes, const CacheSizes& sizes) {
  if (level == "l1") {
    return CheckAtMost(level, bytes, sizes.l1_bytes, "the L1 of a multiprocessor of this GPU");
  }
  if (level == "shared") {
    return CheckAtMost(level, bytes, sizes.shared_bytes_per_block,
                       "the shared memory that a block of this GPU can have");
  }
  if (level == "l2") return CheckAtMost(level, bytes, sizes.l2_bytes, "the L2 of this GPU");
  const int64_t least = kMemoryMultiple * sizes.l2_bytes;
  if (level != "hbm" || bytes >= least) return Status::Ok();
  return InvalidArgument("bytes is " + std::to_string(bytes) +
                         "; with level hbm it must be at least " + std::to_string(least) +
                         ", 8 times the L2 of this GPU; level none takes any");
}

}  // namespace assay
