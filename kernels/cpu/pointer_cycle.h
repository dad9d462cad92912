// A cycle of pointers in memory. Following it makes each load depend on the previous one.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/benchmark.h"

namespace assay {

// A cycle of `elements` elements, one every `stride` bytes from `base` on. `base` must be aligned
// for an Element. Each element points to another one, and all of them together form a single random
// cycle. The memory is not owned.
struct PointerCycle {
  struct Element {
    const Element* next = nullptr;
    int64_t position = 0;  // In the cycle, from 0 on.
  };

  char* base = nullptr;
  int64_t stride = 0;
  int64_t elements = 0;

  Element* At(int64_t index) const { return reinterpret_cast<Element*>(base + index * stride); }

  // Writes every element. `order` is memory for temporary use and must have `elements` numbers.
  void Build(uint64_t seed, std::vector<int64_t>* order) const;

  // Returns the element whose position is 0, or null if there is none.
  const Element* First() const;

  // Checks every element, and that a walk ended at an element of the cycle, `end`, whose position
  // is `expected`. A null `end` means that there was no walk, which is an error. Each element must
  // point to the element with the next position, and the last to position 0. A walk thus visits
  // every element once before it returns to the first.
  Verdict Check(const Element* end, int64_t expected) const;

 private:
  bool Has(const Element* element) const;
};

// Follows `loads` pointers from `at` on and returns the element where the walk ends. `loads` must
// be a multiple of kWalkUnroll.
inline constexpr int64_t kWalkUnroll = 16;
const PointerCycle::Element* Walk(const PointerCycle::Element* at, int64_t loads);

}  // namespace assay
