// Cold caches by rotation: each iteration works on the next of several sets of
// buffers, so that a set is long evicted from L2 when its turn comes again.
#pragma once

#include <cstdint>
#include <string>

#include "common/status.h"

namespace assay {

// Which set is next. Not thread-safe.
class Rotation {
 public:
  Rotation() = default;
  explicit Rotation(int64_t sets) : sets_(sets) {}
  int64_t sets() const { return sets_; }

  // The set of the coming iteration; moves on.
  int64_t Next() {
    last_ = (last_ + 1) % sets_;
    return last_;
  }
  // The set that the latest iteration used.
  int64_t last() const { return last_; }
  // The set that the last of `iterations` more iterations will use.
  int64_t After(int64_t iterations) const { return (last_ + iterations) % sets_; }

 private:
  int64_t sets_ = 1;
  int64_t last_ = 0;
};

// Rotation over sets of `set_bytes`, given `available_bytes` of memory.
// Hot: one. Cold: so many that at least 2x `l2_bytes` of other sets are touched
// between two uses of a set; where memory is short, that all sets together are at
// least 2x `l2_bytes`. OUT_OF_MEMORY if even that does not fit; it says what would:
// `what` completes "... needs 80 GiB".
Result<Rotation> PlanRotation(bool cold, int64_t set_bytes, int64_t l2_bytes,
                              int64_t available_bytes, const std::string& what);

// The multiple of `alignment` at or above `bytes`: where the next array may begin.
inline int64_t AlignUp(int64_t bytes, int64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace assay
