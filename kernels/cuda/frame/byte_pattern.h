// What transfers carry: pseudorandom bytes that either end can make and check by itself.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/benchmark.h"

namespace assay {

// Which bytes: `stream` tells the directions of one case apart.
struct BytePattern {
  uint64_t seed = 0;
  uint64_t stream = 0;

  // Bytes 8 * index to 8 * index + 7, in the order of memory.
  uint64_t Word(int64_t index) const;
};

// Enqueues writing the first `bytes` bytes of the pattern to GPU memory, rounded up to
// whole words of 8.
Status FillBytes(const BytePattern& pattern, void* data, int64_t bytes, cudaStream_t stream);

// Compares `bytes` bytes of GPU memory with the pattern: every byte on the GPU that
// `stream` is of, and words from all over it on the host. Waits for the stream.
Result<Verdict> CheckBytes(const BytePattern& pattern, const void* data, int64_t bytes,
                           cudaStream_t stream);

}  // namespace assay
