// Inputs of a GEMM and the check of its output.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/benchmark.h"
#include "kernels/cuda/gemm/gemm_shape.h"
#include "kernels/cuda/gemm/lt_gemm.h"

namespace assay {

// Describes how the inputs of a GEMM are generated. A benchmark has several sets of matrices, so
// that caches stay cold. In set s, element i of A is element s * stride_a + i of a random sequence.
// B uses another sequence in the same way.
struct GemmInputs {
  uint64_t seed = 0;
  bool zeros = false;
  int64_t stride_a = 0;  // Elements between the start of A in one set and in the next.
  int64_t stride_b = 0;
};

// Enqueues filling A and B of set `set` on `stream`. They start at `a` and `b`.
Status FillGemmInputs(const GemmShape& shape, const GemmInputs& inputs, int64_t set, void* a,
                      void* b, cudaStream_t stream);

// Returns the largest relative error ||D - ref|| / ||ref|| that a correct D may have. The limit
// covers the rounding of the operands (tf32) and of D to their types, and the rounding of the
// accumulator, which is a random walk of k steps. Returns 0 for int8, which is exact.
double GemmTolerance(const GemmShape& shape);

// Checks every element of D in fp64 and returns the verdict. Synchronizes with `stream`. `set` is
// the number of the buffer set in `operands`.
// - For up to 1.25e12 multiplications, the device recomputes each element. An element may be off by
//   8 times the tolerance, relative to a typical element.
// - For more multiplications, Freivalds' method compares D s with A (B s) for a vector s of random
//   signs, per row and slice of up to 512 columns. Each such sum may be off by 6 sqrt(512) times
//   the tolerance.
// - The host recomputes up to 64 x 64 elements without using any results of the device.
Result<Verdict> CheckGemm(const GemmShape& shape, const GemmInputs& inputs, int64_t set,
                          const GemmOperands& operands, cudaStream_t stream);

}  // namespace assay
