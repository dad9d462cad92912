// Inputs of a reduction whose every result is exact in every type, and the check of
// every element.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

#include "kernels/benchmark.h"

namespace assay {

enum class ReduceType { kFloat32, kFloat16, kBfloat16, kFloat64, kInt8, kUint8, kInt32, kInt64 };
enum class ReduceOp { kSum, kProd, kMin, kMax };

int64_t BytesOf(ReduceType type);

// Ranks up to which results stay exact: sums of small whole numbers stay below 128
// (int8), powers of two in a product below 8.
inline constexpr int kMaxReduceRanks = 64;

// What a case reduces. Element i of rank r is, for sum, min and max, a whole number
// from 0 to 127 / world_size, a function of seed, r and i; for prod 1 or 2, at most
// two ranks having a 2. Any order of reduction then gives the same, exact result.
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
// `first` on. Waits for `stream`.
Result<Verdict> CheckReduction(const ReducePattern& pattern, int64_t first, int64_t count,
                               const void* data, cudaStream_t stream);

}  // namespace assay
