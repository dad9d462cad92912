// What each rank puts into a reduction and what has to come out, element by element: for
// the kernels that fill and check, and for host code that checks these.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/frame/random.cuh"
#include "kernels/nccl/reduce_pattern.h"

namespace assay {

// Sums stay at or below it: T holds every whole number up to it, and 32 bits do. No 8-bit
// integer reaches 255, which is what outputs are poisoned with.
template <typename T>
__host__ __device__ constexpr int LargestWhole() {
  if (std::is_same<T, __nv_fp8_e4m3>::value) return 16;
  if (std::is_same<T, __nv_fp8_e5m2>::value) return 8;
  if (std::is_same<T, __nv_bfloat16>::value) return 256;
  if (std::is_same<T, __half>::value) return 2048;
  return sizeof(T) == 1 ? 127 : 1 << 20;
}

// Of one rounding, relative; 0 for integers.
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

// Ranks that may have a one where there are too many for all to have it: no sum exceeds it.
constexpr int kFewRanks = 8;

// Roundings of a mean: 1 / n, each rank's product with it and the sum of both; one to spare.
constexpr int kMeanRoundings = 4;

// Whether the mean of so many floating-point numbers cannot be exact.
__host__ __device__ inline bool MeanRounds(int ranks) { return (ranks & (ranks - 1)) != 0; }

// The random number that an element's ranks share, and what one of them draws itself.
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
  // True for two of `among` ranks, or one that was drawn twice.
  __host__ __device__ bool IsOneOfTwo(int rank, int among) const {
    const uint64_t bits = Shared();
    const auto n = static_cast<uint32_t>(among);
    return rank == static_cast<int>(static_cast<uint32_t>(bits) % n) ||
           rank == static_cast<int>(static_cast<uint32_t>(bits >> 32) % n);
  }
};

// Whole numbers whose sum over all ranks is at most `largest`.
__host__ __device__ inline int SummandOf(const ElementDraws& draws, int rank, int ranks,
                                         int largest) {
  if (ranks <= largest) {
    return static_cast<int>(draws.Of(rank) % static_cast<uint32_t>(largest / ranks + 1));
  }
  // Who has a one is drawn from twice as many, so that sums differ.
  int value = 0;
  for (int slot = 0; slot < kFewRanks; ++slot) {
    const uint32_t drawn = draws.Of(slot) % (2 * static_cast<uint32_t>(ranks));
    value += static_cast<int>(drawn) == rank ? 1 : 0;
  }
  return value;
}

// 0 to `largest`. One rank has the least; which one, and how little, differs from element
// to element, so that with any number of ranks each is missed where it is left out.
__host__ __device__ inline int MinimandOf(const ElementDraws& draws, int rank, int ranks,
                                          int largest) {
  const uint64_t bits = draws.Shared();
  const auto owner = static_cast<int>(static_cast<uint32_t>(bits) % static_cast<uint32_t>(ranks));
  const auto least =
      static_cast<int>(static_cast<uint32_t>(bits >> 32) % static_cast<uint32_t>(largest / 2 + 1));
  if (rank == owner) return least;
  return least + 1 + static_cast<int>(draws.Of(rank) % static_cast<uint32_t>(largest - least));
}

// 2 with two ranks, one or none, else 1.
__host__ __device__ inline int FactorOf(const ElementDraws& draws, int rank, int ranks) {
  return draws.IsOneOfTwo(rank, ranks + 1) ? 2 : 1;
}

// Parts of a mean. Two ranks have one, so that few roundings add up, and one part more or
// less, or another, is no rounding; their sum is at most `largest`.
__host__ __device__ inline int MeanPartOf(const ElementDraws& draws, int rank, int ranks,
                                          int largest) {
  if (!draws.IsOneOfTwo(rank, ranks)) return 0;
  return largest / 8 * (2 + static_cast<int>(draws.Of(rank) % 3));
}

// Rank `rank`'s element; `index` counts through all rotation sets. T holds it exactly.
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

// The reduction of all ranks' elements; of a mean, their sum.
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

// The half types convert from float alone.
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

// True if the element is what ReduceOutput stands for; NaN never is.
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
