// Inputs of a GEMM and the check of its output.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/benchmark.h"
#include "kernels/cuda/gemm/gemm_shape.h"
#include "kernels/cuda/gemm/lt_gemm.h"

namespace assay {

// Where the values of a GEMM's inputs come from: element i of A in rotation set s is
// element s * stride_a + i of a random sequence, and B's likewise of another.
struct GemmInputs {
  uint64_t seed = 0;
  bool zeros = false;
  int64_t stride_a = 0;  // Elements from one set's A to the next.
  int64_t stride_b = 0;
};

// Fills A and B of rotation set `set`, which begin at `a` and `b`, on `stream`.
Status FillGemmInputs(const GemmShape& shape, const GemmInputs& inputs, int64_t set, void* a,
                      void* b, cudaStream_t stream);

// The largest ||D - ref|| / ||ref|| for a right D: rounding of the operands (tf32)
// and of D to their types, and the accumulator's, a random walk of k steps. 0 for
// int8, which is exact.
double GemmTolerance(const GemmShape& shape);

// Compares D with A B in fp64, every element:
// - up to 1.25e12 multiplications, element by element on the device, from the inputs
//   in its memory;
// - above, by Freivalds' method on the device: D s against A (B s) for a vector s of
//   random signs, a comparison for each row of each slice of up to 512 columns, whose
//   differences sum up to an unbiased estimate of ||D - ref||^2;
// - and up to 64 x 64 elements, corners included, against a host computation from
//   inputs generated anew, so that nothing which the device did is trusted.
// An element fails that is off by 8x the tolerance at the size of a typical element; by
// Freivalds' method one that is off by 6 sqrt(512) times the tolerance.
// `set` is the rotation set that `operands` belong to. Waits for `stream`.
Result<Verdict> CheckGemm(const GemmShape& shape, const GemmInputs& inputs, int64_t set,
                          const GemmOperands& operands, cudaStream_t stream);

}  // namespace assay
