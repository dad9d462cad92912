// STREAM's four loops (McCalpin 1995) on a GPU and the one-way loops that bound them (read, write,
// memset), with their inputs and their check.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/benchmark.h"

namespace assay {

enum class StreamOp { kCopy, kScale, kAdd, kTriad, kRead, kWrite, kMemset };

// Number of elements that kRead adds into one element of its output. They are whole numbers below
// 4096, so the sum is exact in fp32 in any order.
inline constexpr int64_t kReadTile = 4096;

// Returns the number of arrays that an iteration reads.
inline int InputsOf(StreamOp op) {
  if (op == StreamOp::kAdd || op == StreamOp::kTriad) return 2;
  return op == StreamOp::kWrite || op == StreamOp::kMemset ? 0 : 1;
}

// Returns the number of elements that an iteration writes, for arrays of `elements`.
inline int64_t OutputElements(StreamOp op, int64_t elements) {
  return op == StreamOp::kRead ? (elements + kReadTile - 1) / kReadTile : elements;
}

// Returns the number of full-length arrays that an iteration accesses; the output of kRead is not
// one.
inline int ArraysOf(StreamOp op) { return InputsOf(op) + (op == StreamOp::kRead ? 0 : 1); }

// Device memory, aligned to 16 bytes: `elements` floats each, except `out` with OutputElements().
// Not owned. `b` and `c` are null if the loop does not read them.
struct StreamArrays {
  float* out = nullptr;
  float* b = nullptr;
  float* c = nullptr;
  int64_t elements = 0;
};

// Selects the values that the arrays of one rotation set hold.
struct StreamInputs {
  uint64_t seed = 0;
  int64_t set = 0;
  bool zeros = false;
};

// Fills b and c with zeros, or with whole numbers below 4096, for which every result is exact in
// fp32.
Status FillStream(const StreamArrays& arrays, const StreamInputs& inputs, cudaStream_t stream);

// Starts one iteration: out = b, 3 b, b + c or b + 3 c; sums of kReadTile elements of b; a pattern
// of seed, set and index (kWrite), or of seed and set alone (kMemset).
Status EnqueueStream(StreamOp op, const StreamArrays& arrays, const StreamInputs& inputs,
                     cudaStream_t stream);

// Compares every element of `out` with the op's result on the values of FillStream, which are
// generated again. Synchronises with `stream`.
Result<Verdict> CheckStream(StreamOp op, const StreamArrays& arrays, const StreamInputs& inputs,
                            cudaStream_t stream);

}  // namespace assay
