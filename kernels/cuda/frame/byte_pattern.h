// The data of transfers: pseudorandom bytes that either end can generate and check by itself.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/benchmark.h"

namespace assay {

// Selects the bytes; `stream` distinguishes the directions of one case.
struct BytePattern {
  uint64_t seed = 0;
  uint64_t stream = 0;

  // Returns bytes 8 * index to 8 * index + 7, in memory order.
  uint64_t Word(int64_t index) const;
};

// Enqueues writing the first `bytes` bytes of the pattern to GPU memory, rounded up to whole words
// of 8 bytes.
Status FillBytes(const BytePattern& pattern, void* data, int64_t bytes, cudaStream_t stream);

// Compares `bytes` bytes of GPU memory with the pattern: every byte on the stream's GPU, and a
// sample of words on the host. Synchronises with the stream.
Result<Verdict> CheckBytes(const BytePattern& pattern, const void* data, int64_t bytes,
                           cudaStream_t stream);

}  // namespace assay
