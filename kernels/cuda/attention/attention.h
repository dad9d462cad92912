// The kernels of the attention benchmark, one file per variant. For each of `heads` independent
// heads, they compute O = softmax(S) V, where S = Q K' / sqrt(d) are the scores and K' is the
// transpose of K. Q, K, V and O are row-major arrays of heads x n x d elements.
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

// Enqueues the `naive` variant, which consists of three textbook kernels: S = Q K', the softmax of
// S in place, and O = S V. The two products use 32 x 32 tiles in shared memory and one thread per
// output element. `scores` points to device memory for the heads x n x n floats of S.
Status EnqueueNaiveAttention(const AttentionShape& shape, const AttentionArrays& arrays,
                             float* scores, cudaStream_t stream);

// Prepare and enqueue the `flash` variant, a single fp32 kernel without tensor cores. It combines
// online softmax (Milakov and Gimelshein, 2018) with the tiling of FlashAttention-2 (Dao, 2023).
// PrepareFlashAttention must be called once, before a CUDA graph is captured. It returns
// Unsupported() if the GPU has too little shared memory.
Status PrepareFlashAttention(const AttentionShape& shape, const GpuDevice& device);
Status EnqueueFlashAttention(const AttentionShape& shape, const AttentionArrays& arrays,
                             cudaStream_t stream);

// Prepare and enqueue the `flash_mma` variant, which runs the `flash` algorithm on tensor cores
// (mma.sync) in bf16 or fp16. Sums are kept in fp32, and the softmax is rounded to the input type.
// Requires compute capability 8.0 or newer. PrepareMmaAttention must be called once, before a CUDA
// graph is captured.
Status PrepareMmaAttention(const AttentionShape& shape, const GpuDevice& device);
Status EnqueueMmaAttention(const AttentionShape& shape, const AttentionArrays& arrays,
                           cudaStream_t stream);

// Tensor maps of the arrays for Hopper's copy engine. Must be aligned to 64 bytes.
struct AttentionTensorMaps {
  CUtensorMap q;
  CUtensorMap k;
  CUtensorMap v;
  CUtensorMap o;
};

// Elements per row of 128 bytes, the unit of the copy engine's swizzle.
inline constexpr int kAttentionPanel = 64;

// Returns a tensor map that describes an array of heads x n x d 16-bit elements to Hopper's copy
// engine (TMA). The map's dimensions are (64 columns, n rows, d / 64 panels, heads). The engine
// copies tiles of `rows` rows, which are stored in shared memory as consecutive panels of 64
// columns. Rows beyond n are read as zeros.
Result<CUtensorMap> EncodeAttentionMap(const AttentionShape& shape, const void* data, int rows);

// Prepare and enqueue the `flash_wgmma` variant, for bf16 and fp16 on GPUs of compute capability
// 9.0. As in FlashAttention-3 (Shah et al., 2024), the copy engine (TMA) loads tiles, and warpgroup
// instructions (wgmma) multiply them. PrepareWgmmaAttention must be called once, before a CUDA
// graph is captured, and EncodeAttentionMaps once per set of arrays. `sm_count` is the number of
// multiprocessors on the GPU.
Status PrepareWgmmaAttention(const AttentionShape& shape, const GpuDevice& device);
Result<AttentionTensorMaps> EncodeAttentionMaps(const AttentionShape& shape,
                                                const AttentionArrays& arrays);
Status EnqueueWgmmaAttention(const AttentionShape& shape, const AttentionTensorMaps& maps,
                             int sm_count, cudaStream_t stream);

// Compares every element of `arrays.o` with a reference that the device computes in fp64. Errors
// are relative to the typical size of the elements in the same row. Synchronizes `stream`.
Result<Verdict> CheckAttention(const AttentionShape& shape, const AttentionArrays& arrays,
                               const ErrorLimits& limits, cudaStream_t stream);

}  // namespace assay
