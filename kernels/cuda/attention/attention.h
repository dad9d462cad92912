// Kernels of the benchmark `attention`, one file per variant: O = softmax(Q K' / sqrt(d)) V for
// each of `heads` independent heads. Q, K, V and O are row-major arrays of heads x n x d.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

#include "common/status.h"
#include "kernels/benchmark.h"
#include "kernels/cuda/frame/device.h"
#include "kernels/cuda/frame/error_sums.cuh"

namespace assay {

struct AttentionShape {
  std::string dtype;    // "fp32", "bf16" or "fp16".
  int64_t heads = 0;    // Heads of all batches.
  int n = 0;            // Queries, and keys, per head.
  int d = 0;            // 64 or 128.
  bool causal = false;  // Query i attends to keys 0..i only.

  int64_t Elements() const { return heads * n * d; }
};

// Arrays in device memory, aligned to 256 bytes, with elements of the shape's dtype.
struct AttentionArrays {
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  void* o = nullptr;
};

// Runs naive: S = Q K', softmax of S in place, O = S V. These are three textbook kernels with 32 x
// 32 tiles in shared memory and one output element per thread. `scores` holds S: heads x n x n
// floats.
Status EnqueueNaiveAttention(const AttentionShape& shape, const AttentionArrays& arrays,
                             float* scores, cudaStream_t stream);

// Runs flash: the online softmax of Milakov and Gimelshein (2018) in one kernel, tiled as in
// FlashAttention-2 (Dao, 2023), with fp32 multiply-adds. Call Prepare once, outside of captures; it
// returns Unsupported() on a GPU with too little shared memory.
Status PrepareFlashAttention(const AttentionShape& shape, const GpuDevice& device);
Status EnqueueFlashAttention(const AttentionShape& shape, const AttentionArrays& arrays,
                             cudaStream_t stream);

// Runs flash_mma: the same on tensor cores with mma.sync, in bf16 or fp16, accumulating in fp32.
// Probabilities are rounded to the dtype. Needs compute capability 8.0 or newer.
Status PrepareMmaAttention(const AttentionShape& shape, const GpuDevice& device);
Status EnqueueMmaAttention(const AttentionShape& shape, const AttentionArrays& arrays,
                           cudaStream_t stream);

// Tensor maps of the arrays for Hopper's copy engine. Their addresses must be multiples of 64.
struct AttentionTensorMaps {
  CUtensorMap q;
  CUtensorMap k;
  CUtensorMap v;
  CUtensorMap o;
};

// Elements per row of 128 bytes, the unit of the copy engine's swizzle.
inline constexpr int kAttentionPanel = 64;

// Describes one array of 16-bit elements, heads x n x d, as (64 columns, n rows, d / 64 panels,
// heads), in boxes of (64, rows, d / 64, 1). Tiles are stored panel by panel; rows beyond n are
// zeros.
Result<CUtensorMap> EncodeAttentionMap(const AttentionShape& shape, const void* data, int rows);

// Runs flash_wgmma: bf16 or fp16 with Hopper's warpgroup instructions on tiles that the copy engine
// loads, like FlashAttention-3 (Shah et al., 2024). Needs compute capability 9.0. Encode the maps
// once per set of arrays.
Status PrepareWgmmaAttention(const AttentionShape& shape, const GpuDevice& device);
Result<AttentionTensorMaps> EncodeAttentionMaps(const AttentionShape& shape,
                                                const AttentionArrays& arrays);
Status EnqueueWgmmaAttention(const AttentionShape& shape, const AttentionTensorMaps& maps,
                             cudaStream_t stream);

// Compares every element of `arrays.o` with a computation in fp64 on the device. Errors are
// relative to the size of a typical element of the row. Synchronises with `stream`.
Result<Verdict> CheckAttention(const AttentionShape& shape, const AttentionArrays& arrays,
                               const ErrorLimits& limits, cudaStream_t stream);

}  // namespace assay
