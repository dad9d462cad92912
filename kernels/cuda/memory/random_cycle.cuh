// A random order that visits every element of an array once and then returns to the first element.
// A thread can compute the element at any position of the order without a table in memory.
#pragma once

#include <cstdint>

#include "kernels/cuda/frame/random.cuh"

namespace assay {

// Maps `index` to a number in [0, size) using a pseudorandom permutation selected by `key`. A
// Feistel network permutes [0, 4^k), where 4^k is the smallest power of 4 that is at least `size`.
// Results outside [0, size) are permuted again ("cycle walking": Black & Rogaway, "Ciphers with
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

// An order in which to visit `elements` elements: one window of `window` consecutive elements after
// another, each in random order. A window of only a few pages avoids TLB misses. If `window` equals
// `elements`, the whole order is random.
struct RandomCycle {
  int64_t elements = 1;
  int64_t window = 1;
  uint64_t seed = 0;

  // Returns the index of the element at `position`, which is taken modulo `elements`.
  __host__ __device__ int64_t At(int64_t position) const {
    const int64_t at = position % elements;
    const int64_t first = at / window * window;
    const int64_t size = elements - first < window ? elements - first : window;
    return first + Shuffled(at - first, size, seed + static_cast<uint64_t>(at / window));
  }
};

}  // namespace assay
