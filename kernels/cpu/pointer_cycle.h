// A cycle of pointers in memory. Following it makes each load depend on the previous one.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/benchmark.h"

namespace assay {

// A random cycle of pointers through `elements` elements in memory, spaced `stride` bytes apart and
// starting at `base`. Each element points to the next one in the cycle. `base` must be aligned for
// an Element. The memory is not owned.
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

  // Checks two conditions:
  // - The elements still form one cycle: each points to the one at the next position, and the last
  //   points to position 0.
  // - A walk through the cycle ended at the right element: `end` is the one at position `expected`.
  //   If `end` is null, there was no walk, which is an error.
  Verdict Check(const Element* end, int64_t expected) const;

 private:
  bool Has(const Element* element) const;
};

// The number of loads in each round of Walk()'s loop.
inline constexpr int64_t kWalkUnroll = 16;
// Follows `loads` pointers, starting at `at`, and returns the element where the walk ends. `loads`
// must be a multiple of kWalkUnroll.
const PointerCycle::Element* Walk(const PointerCycle::Element* at, int64_t loads);

}  // namespace assay
