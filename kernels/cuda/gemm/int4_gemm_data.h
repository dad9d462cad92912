// The data of int4_gemm: the memory layout of W, the inputs, the dequantisation of naive
// implementations, and the check of the output. `type` is the type of x, of the scales and of y:
// bf16 or fp16.
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

// The memory layout of a matrix W (k x n) of 4-bit integers. It is packed for the tensor cores, so
// that a lane loads the 16 bytes that it multiplies:
// - Values: [pair of tiles, 32 columns][unit, 128 of k][tile][chunk, 64 of k][lane][4 words].
//   With g = lane / 4 and t = lane % 4, nibble i (i < 4) of word s, and nibble i + 4, hold
//   column g + 8 (i % 2), k = 32 (s / 2) + 8 t + 4 (s % 2) + 2 (i / 2), and the next k.
// - Scales: [pair of tiles][group of k][tile][8][2] pairs {scale, zero} of x's type: for
//   columns g and g + 8, with g in 0..7.
// Elements beyond n and k in the last pair and unit are zero. k must be a multiple of 64 and of
// `group`.
struct Int4Layout {
  int64_t n = 0;
  int64_t k = 0;
  int64_t group = 0;

  __host__ __device__ int64_t Pairs() const { return (n + 2 * kInt4Tile - 1) / (2 * kInt4Tile); }
  __host__ __device__ int64_t Units() const { return (k + 127) / 128; }
  // Including padding.
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

// y = x W: x is m x k, W is k x n in groups of `group` along k, y is m x n. k is a multiple of 64
// and of `group`, which is 32, 64 or 128.
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

// Fills x, values and scales with the random values of `operands.set`. x is near-normal with
// variance 1: at most 3.47 and, unless it is 0, at least 2^-16. Scales are 1/16 to 1/8. There is no
// other input, so `int4_gemm` has no parameter `fill`.
Status FillInt4Inputs(const Int4Problem& problem, const Int4Operands& operands,
                      cudaStream_t stream);

// Writes W as n x k values of `type` to `weights`: the first pass of a naive product.
Status EnqueueDequantise(const Int4Problem& problem, const Int4Operands& operands, void* weights,
                         cudaStream_t stream);

// Compares y with fp64 arithmetic on scale * (q - zero) from newly generated inputs: every element
// on the device, and some dozens on the host. Synchronises with `stream`.
Result<Verdict> CheckInt4Gemm(const Int4Problem& problem, const Int4Operands& operands,
                              cudaStream_t stream);

}  // namespace assay
