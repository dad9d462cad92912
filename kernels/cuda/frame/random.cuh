// Random numbers that are bitwise identical on host and device. Element i depends only on (seed,
// stream, i), so any part of a sequence can be generated independently of the rest.
#pragma once

#include <cstdint>

namespace assay {

// Mixes the bits of x so that every input bit affects every output bit. This is the finalizer of
// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
__host__ __device__ inline uint64_t Mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Returns element `index` of the sequence `stream` (one per array) of `seed`.
__host__ __device__ inline uint64_t RandomBits(uint64_t seed, uint64_t stream, uint64_t index) {
  return Mix64(Mix64(seed + stream * 0x9e3779b97f4a7c15ULL) + index * 0x9e3779b97f4a7c15ULL);
}

// Converts 64 random bits to an approximately normal number with mean 0 and variance 1, in
// [-3.4641, 3.4641]: the scaled sum of four uniform 16-bit integers. It is rounded only once, so
// that host and device agree. __fmul_rn keeps the compiler from fusing the multiplication with an
// addition in the caller.
__host__ __device__ inline float NearNormal(uint64_t bits) {
  const int sum = static_cast<int>(bits & 0xffff) + static_cast<int>((bits >> 16) & 0xffff) +
                  static_cast<int>((bits >> 32) & 0xffff) + static_cast<int>(bits >> 48);
  constexpr int kMean = 2 * 65535;
  // 1 / sqrt(4 (2^32 - 1) / 12).
  constexpr float kInverseDeviation = 2.6428998e-05F;
#ifdef __CUDA_ARCH__
  return __fmul_rn(static_cast<float>(sum - kMean), kInverseDeviation);
#else
  return static_cast<float>(sum - kMean) * kInverseDeviation;
#endif
}

}  // namespace assay
