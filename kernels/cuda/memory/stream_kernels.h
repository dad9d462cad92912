// STREAM's four loops (McCalpin 1995) on a GPU and the one-way ones that bound them
// (read, write, memset), their inputs and their check.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/benchmark.h"

namespace assay {

enum class StreamOp { kCopy, kScale, kAdd, kTriad, kRead, kWrite, kMemset };

// Elements that kRead adds into one element of its output: whole numbers below 4096,
// so that the sum, whatever its order, is exact in fp32.
inline constexpr int64_t kReadTile = 4096;

// Arrays that an iteration reads.
inline int InputsOf(StreamOp op) {
  if (op == StreamOp::kAdd || op == StreamOp::kTriad) return 2;
  return op == StreamOp::kWrite || op == StreamOp::kMemset ? 0 : 1;
}

// Elements that an iteration writes, of arrays of `elements`.
inline int64_t OutputElements(StreamOp op, int64_t elements) {
  return op == StreamOp::kRead ? (elements + kReadTile - 1) / kReadTile : elements;
}

// Arrays of full length that an iteration touches: the output of kRead is none.
inline int ArraysOf(StreamOp op) { return InputsOf(op) + (op == StreamOp::kRead ? 0 : 1); }

// Device memory, aligned to 16 bytes: `elements` floats each, but OutputElements() of
// `out`. Not owned. `b` and `c` are null if the loop does not read them.
struct StreamArrays {
  float* out = nullptr;
  float* b = nullptr;
  float* c = nullptr;
  int64_t elements = 0;
};

// Which values the arrays of one rotation set hold.
struct StreamInputs {
  uint64_t seed = 0;
  int64_t set = 0;
  bool zeros = false;
};

// Fills b and c with whole numbers below 4096, from which every result is exact in
// fp32, or with zeros.
Status FillStream(const StreamArrays& arrays, const StreamInputs& inputs, cudaStream_t stream);

// Starts one iteration. out = b, 3 b, b + c, b + 3 c; sums of kReadTile elements of b;
// a pattern of seed, set and index (kWrite), or of seed and set alone (kMemset).
Status EnqueueStream(StreamOp op, const StreamArrays& arrays, const StreamInputs& inputs,
                     cudaStream_t stream);

// Compares every element of `out` with what the op makes of the values that
// FillStream wrote, generated anew. Waits for `stream`.
Result<Verdict> CheckStream(StreamOp op, const StreamArrays& arrays, const StreamInputs& inputs,
                            cudaStream_t stream);

}  // namespace assay
