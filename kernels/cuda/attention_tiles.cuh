// What the flash kernels of `attention` share.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace assay {

// Two values rounded to 16 bits, `low` in the lower half.
__device__ inline uint32_t Pack(float low, float high, __half) {
  const __half2 pair = __floats2half2_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

__device__ inline uint32_t Pack(float low, float high, __nv_bfloat16) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

// Which rows of which head a block computes. Causal: the longest ones begin first.
struct QueryTile {
  int64_t head;
  int first;    // Query row.
  int end_key;  // Keys that some row of the tile sees: [0, end_key).
};

__device__ inline QueryTile TileOfBlock(int n, int rows, bool causal) {
  const unsigned tiles = (n + rows - 1) / rows;
  const int first = static_cast<int>(tiles - 1 - blockIdx.x % tiles) * rows;
  return {blockIdx.x / tiles, first, causal ? min(n, first + rows) : n};
}

}  // namespace assay
