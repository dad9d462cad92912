// What ring_all_reduce does on the GPU between messages, and the comparison of its result.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

#include "kernels/benchmark.h"

namespace assay {

// `dtype` is "fp32", "bf16", "fp16" or "fp64" in all of these; NCCL reduces the same types.

// out[i] = a[i] + b[i], rounded to the type, for `count` elements. All three begin at
// multiples of 16 bytes; `out` may be `a` or `b`. Takes at most `blocks` thread blocks, so
// that the kernels which move data meanwhile find room beside it.
Status EnqueueAdd(const std::string& dtype, const void* a, const void* b, void* out, int64_t count,
                  int blocks, cudaStream_t stream);

// Writes elements from `first` on of random sequence `sequence` of `seed` to `data`,
// near-normal with variance 1.
Status FillRandom(const std::string& dtype, uint64_t seed, uint64_t sequence, int64_t first,
                  int64_t count, void* data, cudaStream_t stream);

// The largest difference that CompareSums accepts: 16 roundings, 9.5e-7 for fp32.
double SumTolerance(const std::string& dtype);

// Compares `count` sums of `ranks` elements of FillRandom with those at `reference`, which
// were added in another order. A difference is relative to the reference's element, or to
// the standard deviation of a sum where that is larger; the verdict has the largest one.
// Waits for `stream`.
Result<Verdict> CompareSums(const std::string& dtype, const void* sums, const void* reference,
                            int64_t count, int ranks, cudaStream_t stream);

}  // namespace assay
