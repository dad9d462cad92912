// Inputs of int4_gemm, what naive implementations do with them, and the check of the
// output. `type` is that of x, of the scales and of y: bf16 or fp16.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "common/status.h"
#include "kernels/benchmark.h"
#include "kernels/cuda/gemm/gemm_shape.h"
#include "kernels/cuda/gemm/int4_layout.h"

namespace assay {

// y = x W: x is m x k, W k x n in groups of `group` along k, y m x n. k is a multiple of
// 64 and of `group`, which is 32, 64 or 128.
struct Int4Problem {
  GemmType type = GemmType::kBf16;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t group = 0;
  uint64_t seed = 0;

  Int4Layout Layout() const { return {n, k, group}; }
  // What W consists of: 4 bits a value, and a scale and a zero point of 16 bits a group.
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

// Fills x, values and scales with the random values of `operands.set`: x near-normal with
// variance 1, so at most 3.47 and, where it is not 0, at least 2^-16; scales from 1/16 to 1/8.
// There is no other input: `int4_gemm` has no `fill`.
Status FillInt4Inputs(const Int4Problem& problem, const Int4Operands& operands,
                      cudaStream_t stream);

// Writes W as n x k values of `type` to `weights`: the first pass of a naive product.
Status EnqueueDequantise(const Int4Problem& problem, const Int4Operands& operands, void* weights,
                         cudaStream_t stream);

// Compares y with fp64 arithmetic on scale * (q - zero), from inputs generated anew:
// every element on the device, and some dozens on the host. Waits for `stream`.
Result<Verdict> CheckInt4Gemm(const Int4Problem& problem, const Int4Operands& operands,
                              cudaStream_t stream);

}  // namespace assay
