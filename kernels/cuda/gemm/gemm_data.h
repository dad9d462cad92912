// Inputs of a GEMM and the check of its output.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/benchmark.h"
#include "kernels/cuda/gemm/gemm_shape.h"
#include "kernels/cuda/gemm/lt_gemm.h"

namespace assay {

// The parameters from which the inputs of a GEMM are generated. A benchmark has several sets of
// matrices to keep caches cold. In set s, element i of A is element s * stride_a + i of a random
// sequence. B is generated in the same way from another sequence.
struct GemmInputs {
  uint64_t seed = 0;
  bool zeros = false;
  int64_t stride_a = 0;  // Elements between the start of A in one set and in the next.
  int64_t stride_b = 0;
};

// Enqueues filling A and B of set `set` on `stream`. They start at `a` and `b`.
Status FillGemmInputs(const GemmShape& shape, const GemmInputs& inputs, int64_t set, void* a,
                      void* b, cudaStream_t stream);

// Returns the largest relative error ||D - ref|| / ||ref|| that a correct D may have. It allows for
// the rounding of operands (tf32), of results, and of the accumulator. The accumulator's errors add
// up like a random walk of k steps. Returns 0 for int8, which is exact.
double GemmTolerance(const GemmShape& shape);

// Checks every element of D and returns the verdict. `set` is the number of the buffer set in
// `operands`. Synchronizes `stream`. The host recomputes some elements, and the device checks all:
// - up to 1.25e12 multiplications, by recomputing each element in fp64;
// - beyond that, by Freivalds' method: for each row and each slice of up to 512 columns, comparing
//   D s with A (B s), where s is a vector of random signs.
Result<Verdict> CheckGemm(const GemmShape& shape, const GemmInputs& inputs, int64_t set,
                          const GemmOperands& operands, cudaStream_t stream);

}  // namespace assay
