// The latency of a link: one GPU thread follows a chain of addresses through remote memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/benchmark.h"
#include "kernels/cuda/frame/device.h"
#include "kernels/cuda/memory/pointer_chain.cuh"

namespace assay {

// A walk over memory that the current GPU can access. The memory outlives it. Used by one thread.
class LinkChase {
 public:
  // Writes the chain to `bytes` of `memory`, at the GPU's addresses, and synchronizes.
  static Result<std::unique_ptr<LinkChase>> Create(void* memory, int64_t bytes, uint64_t seed,
                                                   cudaStream_t stream);

  // Enqueues one iteration on the stream: a walk along the chain of pointers, starting where the
  // previous walk ended. The loads always bypass this GPU's L1 cache.
  Status Enqueue();
  // Overwrites the data that Check reads.
  Status Poison();
  // Checks every element of the chain and the end of the latest walk. Synchronizes.
  Result<Verdict> Check();

 private:
  LinkChase(void* memory, int64_t bytes, uint64_t seed, cudaStream_t stream);

  const cudaStream_t stream_;
  PointerChain chain_;
  DeviceBuffer end_;
  int64_t position_ = 0;  // Start of the next walk within the cycle.
};

}  // namespace assay
