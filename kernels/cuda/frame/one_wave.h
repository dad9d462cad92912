// Kernels that run between measured kernels without changing their speed.
//
// After a kernel with more blocks than the GPU's SMs hold at once, NCCL's kernels may be slower
// until another such kernel happens to restore them. A cudaMemset of 1 GiB is such a kernel. On two
// H200, all_reduce of 1 GiB was up to 1.5% slower (docs/measured/h200-collectives-timing.md). After
// kernels of one wave it never was.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "common/status.h"

namespace assay {

// Threads that every SM since compute capability 7.5 holds at once. A kernel with more registers
// per thread than that allows needs __launch_bounds__(threads, kOneWaveThreads / threads).
constexpr unsigned kOneWaveThreads = 1024;

// Returns the number of blocks of `threads`, a divisor of kOneWaveThreads, to launch on the current
// GPU: one per `threads` of `elements`, but at least 1 and no more than its SMs hold at once.
Result<unsigned> OneWaveBlocks(int64_t elements, unsigned threads);

// Works like cudaMemsetAsync: sets each of `bytes` bytes at `data`, in device memory, to `value`.
Status SetBytes(void* data, uint8_t value, int64_t bytes, cudaStream_t stream);

}  // namespace assay
