// Helper kernels that run between measured kernels without changing their speed. A helper kernel
// launches at most as many blocks as the GPU's SMs hold at once (one wave).
//
// A kernel with more blocks, such as a cudaMemset of 1 GiB, can leave NCCL's later kernels slower
// until another such kernel happens to restore them. On two H200, all_reduce of 1 GiB became up to
// 1.5% slower, but never after kernels of one wave (docs/measured/h200-collectives-timing.md).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "common/status.h"

namespace assay {

// Number of threads that an SM of compute capability 7.5 or newer can always hold at once. A kernel
// with many registers per thread must limit them to reach this, with __launch_bounds__(threads,
// kOneWaveThreads / threads).
constexpr unsigned kOneWaveThreads = 1024;

// Returns the number of blocks to launch on the current GPU for one thread per element: at least 1,
// and at most as many as the SMs hold at once. `threads` is the block size, a divisor of
// kOneWaveThreads.
Result<unsigned> OneWaveBlocks(int64_t elements, unsigned threads);

// Sets `bytes` bytes of device memory at `data` to `value`, like cudaMemsetAsync.
Status SetBytes(void* data, uint8_t value, int64_t bytes, cudaStream_t stream);

}  // namespace assay
