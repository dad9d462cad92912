// Inputs of a reduction whose every result is exact in every type, and the check of
// every element.
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

int64_t BytesOf(ReduceType type);
bool IsFloating(ReduceType type);

// What a case reduces: whole numbers, a function of seed, rank and element, whose reduction
// is the same in any order (reduce_values.cuh has them; limit is 2^20, or what the type holds
// exactly).
//
// - sum: 0 to limit / world_size; with more ranks than limit 0 on all but at most 8 ranks.
// - prod: 1, or 2 on at most two ranks.
// - min, max: 0 to limit, one rank's the least or largest.
// - avg: 0, but on at most two ranks limit / 4 to limit / 2. Of floating-point numbers it is
//   exact where world_size is a power of two; else NCCL rounds 1 / n, each product with it and
//   the sum, and 4 roundings are allowed for. Of integers it is the sum's quotient without the
//   remainder.
struct ReducePattern {
  ReduceType type = ReduceType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  uint64_t seed = 0;
  int world_size = 1;
};

// Writes rank `rank`'s elements from `first` on to `data`, `count` of them.
Status FillReduceInput(const ReducePattern& pattern, int rank, int64_t first, int64_t count,
                       void* data, cudaStream_t stream);

// Compares `count` elements at `data` with the reduction of all ranks' elements from
// `first` on. Waits for `stream`. The verdict's reference says what was allowed.
Result<Verdict> CheckReduction(const ReducePattern& pattern, int64_t first, int64_t count,
                               const void* data, cudaStream_t stream);

}  // namespace assay
