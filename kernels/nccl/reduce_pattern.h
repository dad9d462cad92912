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

// What a case reduces. Element i of rank r is, for sum, min, max and avg, a whole number
// from 0 to limit / world_size, a function of seed, r and i, where limit is 127, or 16 and 8
// in fp8 e4m3 and e5m2; with more ranks than limit it is 0 on all but at most 8 ranks. For
// prod it is 1 or 2, at most two ranks having a 2. Any order of reduction then gives the
// same, exact result.
//
// An average of floating-point numbers is exact if world_size is a power of two; else NCCL
// rounds 1 / n and each product with it, and n + 2 roundings are allowed for. Of integers it
// is the sum's quotient without the remainder.
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
