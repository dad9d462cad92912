// Generates the inputs of reductions and checks every element of the results. Inputs are chosen
// to make the results exact in every element type, except for some means.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

#include "kernels/benchmark.h"

namespace assay {

enum class ReduceType {
  kFloat32,
  kFloat16,
  kBfloat16,
  kFloat64,
  kInt8,
  kUint8,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFloat8E4m3,
  kFloat8E5m2,
};
enum class ReduceOp { kSum, kProd, kMin, kMax, kAvg };

// The inputs of a reduction: whole numbers small enough that the order of reduction does not
// matter. They depend on the seed, the rank and the element's index. Their range depends on the
// operation and on L, the largest sum allowed for the element type, such as 256 for bf16.
//   sum: 0 to L / world_size. If there are more than L ranks, at most 8 have inputs other than 0.
//   prod: 1, or 2 on at most two ranks.
//   min, max: 0 to L. For every element, exactly one rank has the smallest or largest value.
//   avg: 0, except L / 4 to L / 2 on at most two ranks. A mean of integers is rounded down. For
//     other types, the check allows for NCCL's rounding if world_size is not a power of two.
struct ReducePattern {
  ReduceType type = ReduceType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  uint64_t seed = 0;
  int world_size = 1;
};

// Writes `count` elements of rank `rank`'s input, starting at element `first`, to `data`.
Status FillReduceInput(const ReducePattern& pattern, int rank, int64_t first, int64_t count,
                       void* data, cudaStream_t stream);

// Compares `count` elements at `data` with the expected result of the reduction, starting at
// element `first`. Waits for `stream`. The verdict says which rounding errors were allowed.
Result<Verdict> CheckReduction(const ReducePattern& pattern, int64_t first, int64_t count,
                               const void* data, cudaStream_t stream);

}  // namespace assay
