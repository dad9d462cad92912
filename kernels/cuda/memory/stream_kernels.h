// The loops of the memory_bandwidth benchmark: their kernels, their inputs and the checks of their
// outputs.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/benchmark.h"
#include "kernels/cuda/memory/stream_op.h"

namespace assay {

// The arrays of one iteration, in device memory that is aligned to 16 bytes and not owned. `b` and
// `c` hold `elements` floats each, or are null if the loop does not read them. `out` holds
// OutputElements() floats.
struct StreamArrays {
  float* out = nullptr;
  float* b = nullptr;
  float* c = nullptr;
  int64_t elements = 0;
};

// The values from which the contents of one set of input arrays are generated. Iterations rotate
// through several sets.
struct StreamInputs {
  uint64_t seed = 0;
  int64_t set = 0;
  bool zeros = false;
};

// Fills `b` and `c` with zeros or with pseudorandom whole numbers below 4096. All results computed
// from such numbers are exact in fp32.
Status FillStream(const StreamArrays& arrays, const StreamInputs& inputs, cudaStream_t stream);

// Enqueues one iteration of the loop `op`, which sets out[i] to:
//   copy    b[i]
//   scale   3 * b[i]
//   add     b[i] + c[i]
//   triad   b[i] + 3 * c[i]
//   read    the sum of each run of kReadTile elements of b
//   write   a pattern that depends on the seed, the set and i
//   memset  copies of one byte that depends on the seed and the set
Status EnqueueStream(StreamOp op, const StreamArrays& arrays, const StreamInputs& inputs,
                     cudaStream_t stream);

// Compares every element of `out` with the expected result of `op`, recomputed from `inputs`. Waits
// for `stream`.
Result<Verdict> CheckStream(StreamOp op, const StreamArrays& arrays, const StreamInputs& inputs,
                            cudaStream_t stream);

}  // namespace assay
