// A cycle of pointers in memory, for loads that depend on each other.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/benchmark.h"

namespace assay {

// `elements` elements, one every `stride` bytes from `base` on, which is aligned for them. Each
// points to another one, and together they form a single random cycle. The memory is not owned.
struct PointerCycle {
  struct Element {
    const Element* next = nullptr;
    int64_t position = 0;  // In the cycle, from 0 on.
  };

  char* base = nullptr;
  int64_t stride = 0;
  int64_t elements = 0;

  Element* At(int64_t index) const { return reinterpret_cast<Element*>(base + index * stride); }

  // Writes every element. `order` must have room for `elements` numbers, which are overwritten.
  void Build(uint64_t seed, std::vector<int64_t>* order) const;

  // Returns the element with position 0, or null if there is none.
  const Element* First() const;

  // Checks every element, and that a walk ended at `end`, which should have the position
  // `expected`. A null `end` means that there was no walk. The positions of the elements that a
  // walk visits must count up to `elements` and begin again, so it visits every element once before
  // it returns.
  Verdict Check(const Element* end, int64_t expected) const;

 private:
  bool Has(const Element* element) const;
};

// Follows `loads` pointers from `at` on and returns the element where the walk ends. `loads` must
// be a multiple of kWalkUnroll.
inline constexpr int64_t kWalkUnroll = 16;
const PointerCycle::Element* Walk(const PointerCycle::Element* at, int64_t loads);

}  // namespace assay
