// Inputs of an all-reduce whose sum is known for every element without asking the
// other ranks, and exact in fp32.
#pragma once

#include <cstdint>

#include "kernels/benchmark.h"

namespace assay {

// What rank `rank` contributes to element `index`: a + rank * b, with a in [0, 1024)
// and b in [0, 8) drawn from seed and index.
float AllReduceInput(uint64_t seed, int rank, int64_t index);

// The sum over all ranks: n a + b n (n - 1) / 2, below 2^24 for 64 ranks.
float AllReduceSum(uint64_t seed, int world_size, int64_t index);

// Compares every element exactly; NaN is a mismatch.
Verdict VerifyAllReduce(uint64_t seed, int world_size, const float* out, int64_t elements);

}  // namespace assay
