// Inputs of int4_gemm, the dequantisation of naive implementations, and the check of the output.
// `type` is the type of x, of the scales and of y: bf16 or fp16.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "common/status.h"
#include "kernels/benchmark.h"
#include "kernels/cuda/gemm/gemm_shape.h"
#include "kernels/cuda/gemm/int4_layout.h"

namespace assay {

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
