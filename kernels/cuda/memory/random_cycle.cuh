// A random order that visits every element of an array once and returns to the first: one cycle.
// Any thread can compute any part of it without memory.
#pragma once

#include <cstdint>

#include "kernels/cuda/frame/random.cuh"

namespace assay {

// A pseudorandom permutation of [0, size): a Feistel network over the next even power of two, whose
// results beyond `size` are encrypted again (cycle walking; Black & Rogaway, "Ciphers with
// arbitrary finite domains", 2002).
__host__ __device__ inline int64_t Shuffled(int64_t index, int64_t size, uint64_t key) {
  int half = 1;
  while ((int64_t{1} << (2 * half)) < size) ++half;
  const uint64_t mask = (uint64_t{1} << half) - 1;
  auto value = static_cast<uint64_t>(index);
  do {
    uint64_t left = value >> half;
    uint64_t right = value & mask;
    for (uint64_t round = 1; round <= 4; ++round) {
      const uint64_t mixed = left ^ (RandomBits(key, round, right) & mask);
      left = right;
      right = mixed;
    }
    value = (left << half) | right;
  } while (value >= static_cast<uint64_t>(size));
  return static_cast<int64_t>(value);
}

// Visits `elements` elements window by window, in random order within each. A window of few pages
// keeps their translations in the TLB. `window` may equal `elements`.
struct RandomCycle {
  int64_t elements = 1;
  int64_t window = 1;
  uint64_t seed = 0;

  // Returns the element at `position`; positions are modulo `elements`.
  __host__ __device__ int64_t At(int64_t position) const {
    const int64_t at = position % elements;
    const int64_t first = at / window * window;
    const int64_t size = elements - first < window ? elements - first : window;
    return first + Shuffled(at - first, size, seed + static_cast<uint64_t>(at / window));
  }
};

}  // namespace assay
