// Inputs of an all-reduce. Every rank can compute the sum of any element by itself, and it is exact
// in fp32.
#pragma once

#include <cstdint>

#include "kernels/benchmark.h"

namespace assay {

// Returns the input of rank `rank` at element `index`: a + rank * b, with a in [0, 1024) and b in
// [0, 8) derived from seed and index.
float AllReduceInput(uint64_t seed, int rank, int64_t index);

// Returns the sum over all ranks, n a + b n (n - 1) / 2, which is below 2^24 for 64 ranks.
float AllReduceSum(uint64_t seed, int world_size, int64_t index);

// Compares every element exactly; NaN is a mismatch.
Verdict VerifyAllReduce(uint64_t seed, int world_size, const float* out, int64_t elements);

}  // namespace assay
