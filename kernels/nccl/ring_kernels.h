// The GPU kernels of the ring_all_reduce benchmark, which add received messages, generate random
// inputs, and check the result.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

#include "kernels/benchmark.h"

namespace assay {

// In all functions, `dtype` must be "fp32", "bf16", "fp16" or "fp64". NCCL can also reduce these
// types.

// Enqueues out[i] = a[i] + b[i], rounded to the element type, for `count` elements. All pointers
// must be aligned to 16 bytes, and `out` may equal `a` or `b`. Uses at most `blocks` thread
// blocks, so that NCCL's kernels have room to run at the same time.
Status EnqueueAdd(const std::string& dtype, const void* a, const void* b, void* out, int64_t count,
                  int blocks, cudaStream_t stream);

// Fills `data` with `count` random elements, approximately normally distributed with variance 1.
// They come from the random sequence selected by `seed` and `sequence`, starting at element
// `first`.
Status FillRandom(const std::string& dtype, uint64_t seed, uint64_t sequence, int64_t first,
                  int64_t count, void* data, cudaStream_t stream);

// Returns the largest relative difference that CompareSums() accepts: the equivalent of 16
// rounding errors, or 9.5e-7 for fp32.
double SumTolerance(const std::string& dtype);

// Compares `count` sums with those at `reference`. Both add up the same random elements of `ranks`
// ranks, but in a different order. Each difference is divided by the larger of the reference value
// and the standard deviation of a sum. The verdict includes the largest quotient. Waits for
// `stream`.
Result<Verdict> CompareSums(const std::string& dtype, const void* sums, const void* reference,
                            int64_t count, int ranks, cudaStream_t stream);

}  // namespace assay
