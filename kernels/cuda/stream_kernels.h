// STREAM's four loops (McCalpin 1995) on a GPU, their inputs and their check.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/benchmark.h"

namespace assay {

enum class StreamOp { kCopy, kScale, kAdd, kTriad };

// Arrays that an iteration touches: copy and scale read one and write one, add and
// triad read two.
inline int ArraysOf(StreamOp op) { return op == StreamOp::kCopy || op == StreamOp::kScale ? 2 : 3; }

// Device memory of `elements` floats each, aligned to 16 bytes. Not owned. `c` is
// null if the loop has no second input.
struct StreamArrays {
  float* out = nullptr;
  float* b = nullptr;
  float* c = nullptr;
  int64_t elements = 0;
};

// Fills the inputs of rotation set `set` with whole numbers below 4096, from which
// every result is exact in fp32.
Status FillStream(const StreamArrays& arrays, uint64_t seed, int64_t set, cudaStream_t stream);

// Starts one iteration: out = b, 3 b, b + c or b + 3 c.
Status EnqueueStream(StreamOp op, const StreamArrays& arrays, cudaStream_t stream);

// Compares every element of `out` with what the op makes of the values that
// FillStream wrote, generated anew. Waits for `stream`.
Result<Verdict> CheckStream(StreamOp op, const StreamArrays& arrays, uint64_t seed, int64_t set,
                            cudaStream_t stream);

}  // namespace assay
