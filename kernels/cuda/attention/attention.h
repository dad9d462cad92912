// Kernels of the benchmark `attention`, one file a variant: O = softmax(Q K' / sqrt(d)) V
// for each of `heads` independent heads. Q, K, V and O are heads x n x d, row-major.
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
  int64_t heads = 0;    // Of all batches.
  int n = 0;            // Queries, and keys, of a head.
  int d = 0;            // 64 or 128.
  bool causal = false;  // Query i attends to keys 0..i only.

  int64_t Elements() const { return heads * n * d; }
};

// Device memory, aligned to 256 bytes; elements of the shape's dtype.
struct AttentionArrays {
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  void* o = nullptr;
};

// naive: S = Q K', softmax of S in place, O = S V: three textbook kernels, 32 x 32 tiles
// in shared memory, one output element a thread. `scores` holds S: heads x n x n floats.
Status EnqueueNaiveAttention(const AttentionShape& shape, const AttentionArrays& arrays,
                             float* scores, cudaStream_t stream);

// flash: the online softmax of Milakov and Gimelshein (2018) in one kernel, tiled as in
// FlashAttention-2 (Dao, 2023); fp32 multiply-adds. Prepare once, outside of captures;
// Unsupported() on a GPU with too little shared memory.
Status PrepareFlashAttention(const AttentionShape& shape, const GpuDevice& device);
Status EnqueueFlashAttention(const AttentionShape& shape, const AttentionArrays& arrays,
                             cudaStream_t stream);

// flash_mma: the same on tensor cores by mma.sync, bf16 and fp16, accumulated in fp32;
// probabilities are rounded to the dtype. Compute capability 8.0 and newer.
Status PrepareMmaAttention(const AttentionShape& shape, const GpuDevice& device);
Status EnqueueMmaAttention(const AttentionShape& shape, const AttentionArrays& arrays,
                           cudaStream_t stream);

// The arrays as Hopper's copy engine sees them. At addresses that are multiples of 64.
struct AttentionTensorMaps {
  CUtensorMap q;
  CUtensorMap k;
  CUtensorMap v;
  CUtensorMap o;
};

// Elements of a row of 128 bytes, which the copy engine swizzles.
inline constexpr int kAttentionPanel = 64;

// Describes one array of 16-bit elements, heads x n x d, as (64 columns, n rows, d / 64
// panels, heads), in boxes of (64, rows, d / 64, 1): tiles by panels, zeros beyond n.
Result<CUtensorMap> EncodeAttentionMap(const AttentionShape& shape, const void* data, int rows);

// flash_wgmma: bf16 and fp16 by Hopper's warpgroup instructions on tiles that the copy
// engine brings, in the manner of FlashAttention-3 (Shah et al., 2024). Compute
// capability 9.0 only. Maps are encoded once for each set of arrays.
Status PrepareWgmmaAttention(const AttentionShape& shape, const GpuDevice& device);
Result<AttentionTensorMaps> EncodeAttentionMaps(const AttentionShape& shape,
                                                const AttentionArrays& arrays);
Status EnqueueWgmmaAttention(const AttentionShape& shape, const AttentionTensorMaps& maps,
                             cudaStream_t stream);

// Compares `arrays.o` with a computation in fp64 on the device; every element. An
// element's error is taken at the size of a typical one of its row. Waits for `stream`.
Result<Verdict> CheckAttention(const AttentionShape& shape, const AttentionArrays& arrays,
                               const ErrorLimits& limits, cudaStream_t stream);

}  // namespace assay
