// Keeps caches cold by rotating through several sets of buffers. Each iteration uses the next set,
// and by the time a set is reused, it has been evicted from the L2 cache.
#pragma once

#include <cstdint>
#include <string>

#include "common/status.h"

namespace assay {

// The current position in a rotation over `sets` sets. Not thread-safe.
class Rotation {
 public:
  Rotation() = default;
  explicit Rotation(int64_t sets) : sets_(sets) {}
  int64_t sets() const { return sets_; }

  // Returns the set of the next iteration and advances.
  int64_t Next() {
    last_ = (last_ + 1) % sets_;
    return last_;
  }
  // Returns the set that the latest iteration used.
  int64_t last() const { return last_; }
  // Returns the set that the last of `iterations` more iterations will use.
  int64_t After(int64_t iterations) const { return (last_ + iterations) % sets_; }

 private:
  int64_t sets_ = 1;
  int64_t last_ = 0;
};

// Chooses the number of buffer sets, each of `set_bytes` bytes:
// - Hot cache: one set.
// - Cold cache: enough sets that at least 2 x `l2_bytes` of other sets are used before a set is
//   reused. If memory is short, 2 x `l2_bytes` for all sets together is enough.
// Returns OUT_OF_MEMORY, with the size that would fit, if `available_bytes` is too small even for
// that. `what` is the start of the error message: "... needs 80 GiB of GPU memory".
Result<Rotation> PlanRotation(bool cold, int64_t set_bytes, int64_t l2_bytes,
                              int64_t available_bytes, const std::string& what);

// Rounds `size` up to a multiple of `alignment`.
inline int64_t AlignUp(int64_t size, int64_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

}  // namespace assay
