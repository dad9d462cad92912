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
// it exactly, so sums have no rounding error. For 8-bit integers, the value is below 255 (0xff),
// which marks elements that the collective has not written.
template <typename T>
__host__ __device__ constexpr int LargestWhole() {
  if (std::is_same<T, __nv_fp8_e4m3>::value) return 16;
  if (std::is_same<T, __nv_fp8_e5m2>::value) return 8;
  if (std::is_same<T, __nv_bfloat16>::value) return 256;
  if (std::is_same<T, __half>::value) return 2048;
  return sizeof(T) == 1 ? 127 : 1 << 20;
}

// Returns the largest relative error of rounding a number to T, or 0 for integers.
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

// The maximum number of ranks that contribute to a sum when there are very many ranks. If all of
// them contributed, the sum could exceed the largest whole number that the data type holds exactly.
// With this limit, the sum is at most kFewRanks.
constexpr int kFewRanks = 8;

// The number of rounding errors allowed when checking a mean of n inputs. NCCL rounds 1 / n, then
// each input times 1 / n, and then the sum of these products, at most two of which are nonzero.
// These are three rounding errors; one more is allowed in reserve.
constexpr int kMeanRoundings = 4;

// Returns true if the mean of this many floating-point numbers is rounded because 1 / ranks has
// no exact representation.
__host__ __device__ inline bool MeanRounds(int ranks) { return (ranks & (ranks - 1)) != 0; }

// The random numbers for one element. Shared() is the same for all ranks, while Of() differs from
// rank to rank.
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
  // Returns true if `rank` is one of two ranks drawn at random from `among` ranks. The same rank
  // may be drawn twice.
  __host__ __device__ bool IsOneOfTwo(int rank, int among) const {
    const uint64_t bits = Shared();
    const auto n = static_cast<uint32_t>(among);
    return rank == static_cast<int>(static_cast<uint32_t>(bits) % n) ||
           rank == static_cast<int>(static_cast<uint32_t>(bits >> 32) % n);
  }
};

// Returns the whole number that rank `rank` contributes to a sum. The sum over all ranks is at
// most `largest`.
__host__ __device__ inline int SummandOf(const ElementDraws& draws, int rank, int ranks,
                                         int largest) {
  if (ranks <= largest) {
    return static_cast<int>(draws.Of(rank) % static_cast<uint32_t>(largest / ranks + 1));
  }
  // Limits the sum to kFewRanks, because it could exceed `largest` if all ranks contributed. Draws
  // kFewRanks numbers at random, and lets each rank contribute the count of draws equal to `rank`.
  // Half of the possible draws match no rank, so the sums differ from element to element.
  int value = 0;
  for (int slot = 0; slot < kFewRanks; ++slot) {
    const uint32_t drawn = draws.Of(slot) % (2 * static_cast<uint32_t>(ranks));
    value += static_cast<int>(drawn) == rank ? 1 : 0;
  }
  return value;
}

// Returns the input of rank `rank` for a minimum, from 0 to `largest`. Both the minimum and the
// rank that has it vary from element to element, so leaving out any rank makes some results wrong.
__host__ __device__ inline int MinimandOf(const ElementDraws& draws, int rank, int ranks,
                                          int largest) {
  const uint64_t bits = draws.Shared();
  const auto owner = static_cast<int>(static_cast<uint32_t>(bits) % static_cast<uint32_t>(ranks));
  const auto least =
      static_cast<int>(static_cast<uint32_t>(bits >> 32) % static_cast<uint32_t>(largest / 2 + 1));
  if (rank == owner) return least;
  return least + 1 + static_cast<int>(draws.Of(rank) % static_cast<uint32_t>(largest - least));
}

// Returns the input of rank `rank` for a product. It is 2 on at most two ranks and 1 on the others.
__host__ __device__ inline int FactorOf(const ElementDraws& draws, int rank, int ranks) {
  return draws.IsOneOfTwo(rank, ranks + 1) ? 2 : 1;
}

// Returns the input of rank `rank` for a mean. For each element, at most two ranks have a nonzero
// input. With so few terms, the rounding error is always smaller than the effect of a missing or
// wrong one. The sum over all ranks is at most `largest`.
__host__ __device__ inline int MeanPartOf(const ElementDraws& draws, int rank, int ranks,
                                          int largest) {
  if (!draws.IsOneOfTwo(rank, ranks)) return 0;
  return largest / 8 * (2 + static_cast<int>(draws.Of(rank) % 3));
}

// Returns element `index` of rank `rank`'s input, which T represents exactly. Elements are
// numbered consecutively across all sets of buffers.
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

// Returns the reduction of element `index` over all ranks' inputs. For a mean, returns the sum.
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

// Converts by way of float, because the 16-bit types can be converted only from float.
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

// Returns true if `element` is a correct result, given the exact value `output` from
// ReduceOutput(). NaN is never correct.
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
