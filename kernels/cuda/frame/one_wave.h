// Kernels that run between those that are measured, and leave them as fast as they were.
//
// After a kernel of more blocks than the GPU's SMs hold at once, NCCL's kernels may be slower until
// another such kernel comes, which restores them or not, by chance. A cudaMemset of 1 GiB is one.
// On two H200, all_reduce of 1 GiB was up to 1.5% slower (docs/measured/h200-collectives-timing.md).
// After kernels of one wave it never was.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "common/status.h"

namespace assay {

// Of which every SM since compute capability 7.5 holds as many at once. A kernel whose threads
// take more registers than that leaves needs __launch_bounds__(threads, kOneWaveThreads / threads).
constexpr unsigned kOneWaveThreads = 1024;

// How many blocks of `threads`, a divisor of kOneWaveThreads, to launch on the current GPU: one
// for each `threads` of `elements`, but no more than its SMs hold at once; 1 or more.
Result<unsigned> OneWaveBlocks(int64_t elements, unsigned threads);

// What cudaMemsetAsync does: each of `bytes` bytes at `data`, in device memory, becomes `value`.
Status SetBytes(void* data, uint8_t value, int64_t bytes, cudaStream_t stream);

}  // namespace assay
