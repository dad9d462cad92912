// Device code that the kernels of `attention` share.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace assay {

// Return the maximum or the sum of `value` across the 16 threads of a half warp, which together
// compute one row of a tile. T is float or double.
template <typename T>
__device__ T HalfWarpMax(T value) {
  for (int offset = 8; offset > 0; offset /= 2) {
    value = fmax(value, __shfl_xor_sync(0xffffffff, value, offset));
  }
  return value;
}
template <typename T>
__device__ T HalfWarpSum(T value) {
  for (int offset = 8; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

// Rounds two values to 16 bits and packs them, `low` in the lower half.
__device__ inline uint32_t Pack(float low, float high, __half) {
  const __half2 pair = __floats2half2_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

__device__ inline uint32_t Pack(float low, float high, __nv_bfloat16) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

// Rows and head of one unit of work. With a causal mask the longest rows come first.
struct QueryTile {
  int64_t head;
  int first;    // First query row.
  int end_key;  // Some row of the tile sees the keys [0, end_key).
};

__device__ inline QueryTile TileOf(unsigned number, int n, int rows, bool causal) {
  const unsigned tiles = (n + rows - 1) / rows;
  const int first = static_cast<int>(tiles - 1 - number % tiles) * rows;
  return {number / tiles, first, causal ? min(n, first + rows) : n};
}

__device__ inline QueryTile TileOfBlock(int n, int rows, bool causal) {
  return TileOf(blockIdx.x, n, rows, causal);
}

}  // namespace assay
