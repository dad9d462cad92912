// Generates reproducible random input data. Each number depends only on a seed and an index, so
// elements can be computed in any order and on any machine.
#pragma once

#include <cstdint>

namespace assay {

// Returns the `index`-th random number for `seed`, computed with SplitMix64 (Steele, Lea & Flood
// 2014).
inline uint64_t RandomAt(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace assay
