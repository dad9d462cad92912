// Inputs of a GEMM and the check of its output.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/benchmark.h"
#include "kernels/cuda/gemm/gemm_shape.h"
#include "kernels/cuda/gemm/lt_gemm.h"

namespace assay {

// The source of a GEMM's inputs: element i of A in rotation set s is element s * stride_a + i of a
// random sequence. B uses another sequence in the same way.
struct GemmInputs {
  uint64_t seed = 0;
  bool zeros = false;
  int64_t stride_a = 0;  // Distance in elements between the A of one set and the next.
  int64_t stride_b = 0;
};

// Fills A and B of rotation set `set`, which start at `a` and `b`, on `stream`.
Status FillGemmInputs(const GemmShape& shape, const GemmInputs& inputs, int64_t set, void* a,
                      void* b, cudaStream_t stream);

// Returns the largest ||D - ref|| / ||ref|| of a correct D. It covers the rounding of the operands
// (tf32) and of D to their types, and the accumulator's rounding, a random walk of k steps. 0 for
// int8, which is exact.
double GemmTolerance(const GemmShape& shape);

// Compares every element of D with A B in fp64:
// - up to 1.25e12 multiplications: element by element on the device, from the inputs in its
//   memory;
// - above: by Freivalds' method on the device, which compares D s with A (B s) for a vector s
//   of random signs. There is one comparison per row of each slice of up to 512 columns. Their
//   differences add up to an unbiased estimate of ||D - ref||^2;
// - additionally up to 64 x 64 elements, including the corners, are compared with a host
//   computation from newly generated inputs, so that no result of the device is trusted.
// An element fails if its error exceeds 8 times the tolerance at the size of a typical element,
// with Freivalds' method 6 sqrt(512) times. `set` is the rotation set of `operands`. Synchronises
// with `stream`.
Result<Verdict> CheckGemm(const GemmShape& shape, const GemmInputs& inputs, int64_t set,
                          const GemmOperands& operands, cudaStream_t stream);

}  // namespace assay
