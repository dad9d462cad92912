// Helper kernels that run between measured kernels without affecting the measured speed. A helper
// kernel launches no more blocks than the GPU's SMs can hold at once (one wave).
//
// A kernel with more blocks, such as a cudaMemset of 1 GiB, can slow down later NCCL kernels until
// another such kernel happens to restore their speed. On two H200s, all_reduce of 1 GiB slowed down
// by up to 1.5%, but never after one-wave kernels (docs/measured/h200-collectives-timing.md).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "common/status.h"

namespace assay {

// The number of threads that an SM of compute capability 7.5 or newer can always hold at once.
// Kernels that would need too many registers for that must limit them with
// __launch_bounds__(threads, kOneWaveThreads / threads).
constexpr unsigned kOneWaveThreads = 1024;

// Returns the number of blocks of `threads` threads to launch on the current GPU for `elements`
// elements: enough for one thread per element, but at least 1 block and no more than the SMs can
// hold at once. `threads` must divide kOneWaveThreads.
Result<unsigned> OneWaveBlocks(int64_t elements, unsigned threads);

// Sets `bytes` bytes of device memory at `data` to `value`, like cudaMemsetAsync.
Status SetBytes(void* data, uint8_t value, int64_t bytes, cudaStream_t stream);

}  // namespace assay
