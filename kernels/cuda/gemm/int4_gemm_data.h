// The data of the int4_gemm benchmark (y = x W): the memory layout of W, the random inputs, the
// conversion of W to 16 bits, and the check of y. x, y and the scales of W are bf16 or fp16.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "common/status.h"
#include "kernels/benchmark.h"
#include "kernels/cuda/gemm/gemm_shape.h"

namespace assay {

inline constexpr int kInt4Tile = 16;  // Columns of W.

// The element of W that a value belongs to.
struct Int4Place {
  int64_t k = 0;
  int64_t column = 0;
};

// The memory layout of W, a k x n matrix of 4-bit integers. Each lane of a warp loads its values
// for the tensor cores as 16 contiguous bytes. `group` neighbors along k share a scale and a zero
// point. Padding is zero. k must be a multiple of 64 and of `group`. The order in memory is:
// - Values: [n / 32][k / 128][tile of 16 columns][chunk of 64 k][lane][4 words of 8 values].
// - Scales: [n / 32][k / group][tile of 16 columns][lane / 4][2] pairs {scale, zero}.
struct Int4Layout {
  int64_t n = 0;
  int64_t k = 0;
  int64_t group = 0;

  __host__ __device__ int64_t Pairs() const { return (n + 2 * kInt4Tile - 1) / (2 * kInt4Tile); }
  __host__ __device__ int64_t Units() const { return (k + 127) / 128; }
  // Number of groups per column, including padding.
  __host__ __device__ int64_t Groups() const { return Units() * 128 / group; }
  __host__ __device__ int64_t ValueBytes() const { return Pairs() * Units() * 2048; }
  __host__ __device__ int64_t ScaleBytes() const { return Pairs() * Groups() * 128; }

  // Returns the element that nibble `nibble` of word `word` of the values belongs to.
  __host__ __device__ Int4Place PlaceOf(int64_t word, int nibble) const {
    const int64_t step = word % 4;
    const int64_t lane = word / 4 % 32;
    const int64_t chunk = word / 512 % Units() * 2 + word / 128 % 2;
    const int64_t tile = word / 512 / Units() * 2 + word / 256 % 2;
    const int pair = nibble % 4;
    return {chunk * 64 + step / 2 * 32 + lane % 4 * 8 + step % 2 * 4 + pair / 2 * 2 + nibble / 4,
            tile * kInt4Tile + lane / 4 + pair % 2 * 8};
  }
  // Returns true if W has this element; the others are padding.
  __host__ __device__ bool Holds(const Int4Place& place) const {
    return place.k < k && place.column < n;
  }
  // Returns the index of an element's {scale, zero}.
  __host__ __device__ int64_t ScaleIndexOf(const Int4Place& place) const {
    const int64_t tile = place.column / kInt4Tile;
    const int64_t inside = place.column % 8 * 2 + place.column / 8 % 2;
    return ((tile / 2 * Groups() + place.k / group) * 2 + tile % 2) * kInt4Tile + inside;
  }
  // Returns the first k of the group, and the column, that {scale, zero} number `index` belongs to.
  __host__ __device__ Int4Place ScalePlaceOf(int64_t index) const {
    const int64_t tile = index / 32 / Groups() * 2 + index / 16 % 2;
    return {index / 32 % Groups() * group, tile * kInt4Tile + index % 16 / 2 + index % 2 * 8};
  }
};

// The sizes of a product y = x W, where x is m x k, W is k x n and y is m x n. In each column of W,
// `group` neighbors (32, 64 or 128) share a scale. k must be a multiple of 64 and of `group`.
struct Int4Problem {
  GemmType type = GemmType::kBf16;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t group = 0;
  uint64_t seed = 0;

  Int4Layout Layout() const { return {n, k, group}; }
  // Bytes of W: 4 bits per value, and a scale and a zero point of 16 bits each per group.
  int64_t WeightBytes() const { return n * k / 2 + n * (k / group) * 4; }
};

// Device memory of one rotation set. Not owned.
struct Int4Operands {
  int64_t set = 0;
  void* x = nullptr;
  void* values = nullptr;
  void* scales = nullptr;
  void* y = nullptr;
};

// Fills x and W of the buffer set `operands` with random values. The elements of x are
// approximately normally distributed with variance 1, and their magnitudes are 0 or between 2^-16
// and 3.47. The scales of W are between 1/16 and 1/8.
Status FillInt4Inputs(const Int4Problem& problem, const Int4Operands& operands,
                      cudaStream_t stream);

// Enqueues converting W to n x k values of `type` at `weights`, for the variant `naive`.
Status EnqueueDequantise(const Int4Problem& problem, const Int4Operands& operands, void* weights,
                         cudaStream_t stream);

// Compares y with an fp64 product of inputs that are regenerated from the seed. The device checks
// every element, and the host checks a few dozen. Synchronizes `stream`.
Result<Verdict> CheckInt4Gemm(const Int4Problem& problem, const Int4Operands& operands,
                              cudaStream_t stream);

}  // namespace assay
