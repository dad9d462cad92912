// Inputs of reductions whose results are exact in every type, and the check of every element.
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

// The inputs of a case: whole numbers that depend on seed, rank and element. Their reduction is the
// same in any order. reduce_values.cuh computes them. The limit is 2^20, or the largest number that
// the type represents exactly if that is smaller.
//
// - sum: 0 to limit / world_size; with more ranks than limit, 0 on all but at most 8 ranks.
// - prod: 1, or 2 on at most two ranks.
// - min, max: 0 to limit. One rank has the smallest or largest.
// - avg: 0, except limit / 4 to limit / 2 on at most two ranks.
//
// The mean of floating-point numbers is exact if world_size is a power of two. Otherwise NCCL
// rounds 1 / n, each product with it and the sum, and 4 roundings are allowed. The mean of integers
// is the quotient of the sum without the remainder.
struct ReducePattern {
  ReduceType type = ReduceType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  uint64_t seed = 0;
  int world_size = 1;
};

// Writes `count` elements of rank `rank` from `first` on to `data`.
Status FillReduceInput(const ReducePattern& pattern, int rank, int64_t first, int64_t count,
                       void* data, cudaStream_t stream);

// Compares `count` elements at `data` with the reduction of all ranks' elements from
// `first` on. Waits for `stream`. The verdict's reference says which errors were allowed.
Result<Verdict> CheckReduction(const ReducePattern& pattern, int64_t first, int64_t count,
                               const void* data, cudaStream_t stream);

}  // namespace assay
