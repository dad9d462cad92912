// The kernels of memory_bandwidth's loops, their inputs and their check.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/benchmark.h"
#include "kernels/cuda/memory/stream_op.h"

namespace assay {

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

// Starts one iteration. It writes b, 3 b, b + c or b + 3 c to `out`, or the sums of kReadTile
// elements of b each, or a pattern of seed, set and index (kWrite) or of seed and set alone
// (kMemset).
Status EnqueueStream(StreamOp op, const StreamArrays& arrays, const StreamInputs& inputs,
                     cudaStream_t stream);

// Compares every element of `out` with the op's result on the values of FillStream, which are
// generated again. Synchronises with `stream`.
Result<Verdict> CheckStream(StreamOp op, const StreamArrays& arrays, const StreamInputs& inputs,
                            cudaStream_t stream);

}  // namespace assay
