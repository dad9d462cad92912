// Pseudorandom test data for memory transfers. All bytes are determined by a seed, so the
// receiving side can check them without access to what was sent.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/benchmark.h"

namespace assay {

// A sequence of pseudorandom bytes determined by `seed` and `stream`. A benchmark that transfers
// data in two directions uses a different `stream` for each.
struct BytePattern {
  uint64_t seed = 0;
  uint64_t stream = 0;

  // Returns bytes 8 * index to 8 * index + 7, in memory order.
  uint64_t Word(int64_t index) const;
};

// Enqueues a kernel on `stream` that writes the pattern to GPU memory. The kernel writes whole
// 8-byte words, so the buffer must hold `bytes` rounded up to a multiple of 8.
Status FillBytes(const BytePattern& pattern, void* data, int64_t bytes, cudaStream_t stream);

// Compares `bytes` bytes of GPU memory with the pattern. The GPU compares every byte; the host
// also compares a sample of 8-byte words. Synchronizes with the stream.
Result<Verdict> CheckBytes(const BytePattern& pattern, const void* data, int64_t bytes,
                           cudaStream_t stream);

}  // namespace assay
