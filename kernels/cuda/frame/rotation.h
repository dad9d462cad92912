// Cold caches by rotation: each iteration works on the next of several sets of buffers, so a set
// has been evicted from L2 when its turn comes again.
#pragma once

#include <cstdint>
#include <string>

#include "common/status.h"

namespace assay {

// The position in the rotation. Not thread-safe.
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

// Plans the rotation over sets of `set_bytes`, given `available_bytes` of memory. Hot: one set.
// Cold: enough sets that at least 2x `l2_bytes` of other sets are used between two uses of a set;
// if memory is short, enough that all sets together are at least 2x `l2_bytes`. Returns
// OUT_OF_MEMORY, with what would fit, if even that does not fit. `what` completes "... needs 80
// GiB".
Result<Rotation> PlanRotation(bool cold, int64_t set_bytes, int64_t l2_bytes,
                              int64_t available_bytes, const std::string& what);

// Rounds `bytes` up to a multiple of `alignment`, where the next array may start.
inline int64_t AlignUp(int64_t bytes, int64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace assay
