// Computes the inputs and the expected result of a reduction, one element at a time. Used by the
// kernels that fill and check buffers, and by host code that tests those kernels.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/frame/random.cuh"
#include "kernels/nccl/reduce_pattern.h"

namespace assay {

// Returns the largest value that a sum of inputs may reach. T represents every whole number up to
// this value exactly, so sums have no rounding error. For 8-bit integers it is below 255, the value
// that marks elements which the collective has not written.
template <typename T>
__host__ __device__ constexpr int LargestWhole() {
  if (std::is_same<T, __nv_fp8_e4m3>::value) return 16;
  if (std::is_same<T, __nv_fp8_e5m2>::value) return 8;
  if (std::is_same<T, __nv_bfloat16>::value) return 256;
  if (std::is_same<T, __half>::value) return 2048;
  return sizeof(T) == 1 ? 127 : 1 << 20;
}

// Returns the relative size of one rounding; 0 for integers.
template <typename T>
__host__ __device__ constexpr double UnitRoundoff() {
  if (std::is_same<T, float>::value) return 1.0 / (1 << 24);
  if (std::is_same<T, double>::value) return 1.0 / (int64_t{1} << 53);
  if (std::is_same<T, __half>::value) return 1.0 / (1 << 11);
  if (std::is_same<T, __nv_bfloat16>::value) return 1.0 / (1 << 8);
  if (std::is_same<T, __nv_fp8_e4m3>::value) return 1.0 / (1 << 4);
  if (std::is_same<T, __nv_fp8_e5m2>::value) return 1.0 / (1 << 3);
  return 0;
}

// If there are too many ranks for all of them to contribute to a sum, at most this many ranks have
// a nonzero input. The sum then does not exceed this number.
constexpr int kFewRanks = 8;

// Roundings of a mean: 1 / n, each rank's product with it and the sum of both, and one in reserve.
constexpr int kMeanRoundings = 4;

// Returns true if the mean of this many floating-point numbers cannot be exact.
__host__ __device__ inline bool MeanRounds(int ranks) { return (ranks & (ranks - 1)) != 0; }

// The random number that all ranks share at an element, and the one of a single rank.
struct ElementDraws {
  uint64_t seed;
  int64_t index;

  __host__ __device__ uint64_t Shared() const {
    return RandomBits(seed, 0, static_cast<uint64_t>(index));
  }
  __host__ __device__ uint32_t Of(int rank) const {
    return static_cast<uint32_t>(
        RandomBits(seed, static_cast<uint64_t>(rank) + 1, static_cast<uint64_t>(index)));
  }
  // True for two of `among` ranks, or for one rank that was drawn twice.
  __host__ __device__ bool IsOneOfTwo(int rank, int among) const {
    const uint64_t bits = Shared();
    const auto n = static_cast<uint32_t>(among);
    return rank == static_cast<int>(static_cast<uint32_t>(bits) % n) ||
           rank == static_cast<int>(static_cast<uint32_t>(bits >> 32) % n);
  }
};

// Returns whole numbers whose sum over all ranks is at most `largest`.
__host__ __device__ inline int SummandOf(const ElementDraws& draws, int rank, int ranks,
                                         int largest) {
  if (ranks <= largest) {
    return static_cast<int>(draws.Of(rank) % static_cast<uint32_t>(largest / ranks + 1));
  }
  // Ranks with a one are drawn from twice as many, so that sums differ.
  int value = 0;
  for (int slot = 0; slot < kFewRanks; ++slot) {
    const uint32_t drawn = draws.Of(slot) % (2 * static_cast<uint32_t>(ranks));
    value += static_cast<int>(drawn) == rank ? 1 : 0;
  }
  return value;
}

// Returns the input of rank `rank` for a minimum, from 0 to `largest`. The position and the value
// of the minimum vary from element to element, so leaving out any rank makes some results wrong.
__host__ __device__ inline int MinimandOf(const ElementDraws& draws, int rank, int ranks,
                                          int largest) {
  const uint64_t bits = draws.Shared();
  const auto owner = static_cast<int>(static_cast<uint32_t>(bits) % static_cast<uint32_t>(ranks));
  const auto least =
      static_cast<int>(static_cast<uint32_t>(bits >> 32) % static_cast<uint32_t>(largest / 2 + 1));
  if (rank == owner) return least;
  return least + 1 + static_cast<int>(draws.Of(rank) % static_cast<uint32_t>(largest - least));
}

// Returns 2 on at most two ranks, else 1.
__host__ __device__ inline int FactorOf(const ElementDraws& draws, int rank, int ranks) {
  return draws.IsOneOfTwo(rank, ranks + 1) ? 2 : 1;
}

// Returns the input of rank `rank` for the test of a mean over the ranks. At most two ranks have a
// nonzero input for an element. With so few nonzero terms, the rounding error is always smaller
// than the effect of a missing or wrong term. The sum over all ranks is at most `largest`.
__host__ __device__ inline int MeanPartOf(const ElementDraws& draws, int rank, int ranks,
                                          int largest) {
  if (!draws.IsOneOfTwo(rank, ranks)) return 0;
  return largest / 8 * (2 + static_cast<int>(draws.Of(rank) % 3));
}

// Returns rank `rank`'s element, which T represents exactly. `index` counts through all sets.
template <typename T>
__host__ __device__ int ReduceInput(const ReducePattern& pattern, int rank, int64_t index) {
  const ElementDraws draws{pattern.seed, index};
  const int ranks = pattern.world_size;
  constexpr int largest = LargestWhole<T>();
  switch (pattern.op) {
    case ReduceOp::kProd:
      return FactorOf(draws, rank, ranks);
    case ReduceOp::kMin:
      return MinimandOf(draws, rank, ranks, largest);
    case ReduceOp::kMax:
      return largest - MinimandOf(draws, rank, ranks, largest);
    case ReduceOp::kAvg:
      return MeanPartOf(draws, rank, ranks, largest);
    case ReduceOp::kSum:
      break;
  }
  return SummandOf(draws, rank, ranks, largest);
}

// Returns the reduction of all ranks' elements; for a mean, their sum.
template <typename T>
__host__ __device__ int ReduceOutput(const ReducePattern& pattern, int64_t index) {
  int result = ReduceInput<T>(pattern, 0, index);
  for (int rank = 1; rank < pattern.world_size; ++rank) {
    const int value = ReduceInput<T>(pattern, rank, index);
    switch (pattern.op) {
      case ReduceOp::kSum:
      case ReduceOp::kAvg:
        result += value;
        break;
      case ReduceOp::kProd:
        result *= value;
        break;
      case ReduceOp::kMin:
        result = value < result ? value : result;
        break;
      case ReduceOp::kMax:
        result = value > result ? value : result;
        break;
    }
  }
  return result;
}

// The 16-bit types convert from float only.
template <typename T>
__host__ __device__ inline T FromInt(int value) {
  return static_cast<T>(static_cast<float>(value));
}
template <>
__host__ __device__ inline double FromInt(int value) {
  return value;
}

template <typename T>
__host__ __device__ inline double ToDouble(T element) {
  return static_cast<double>(static_cast<float>(element));
}
template <>
__host__ __device__ inline double ToDouble(double element) {
  return element;
}

// Returns true if the element is the expected result. NaN never is.
template <typename T>
__host__ __device__ bool IsReduced(const ReducePattern& pattern, T element, int output) {
  const int ranks = pattern.world_size;
  const bool is_mean = pattern.op == ReduceOp::kAvg;
  if constexpr (std::is_integral<T>::value) {
    return element == FromInt<T>(is_mean ? output / ranks : output);
  } else {
    const double right = is_mean ? static_cast<double>(output) / ranks : output;
    const double allowed =
        is_mean && MeanRounds(ranks) ? kMeanRoundings * UnitRoundoff<T>() * right : 0;
    const double off = ToDouble(element) - right;
    return off <= allowed && -off <= allowed;
  }
}

}  // namespace assay
