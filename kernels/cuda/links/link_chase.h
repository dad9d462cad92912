// Measures the latency of a link: one GPU thread follows a chain of pointers through remote memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/benchmark.h"
#include "kernels/cuda/frame/device.h"
#include "kernels/cuda/memory/pointer_chain.cuh"

namespace assay {

// A chain of pointers in memory that the current GPU can access, and the walk along the chain. The
// memory must outlive this object. Must be used by a single thread.
class LinkChase {
 public:
  // Writes the chain of pointers to the first `bytes` bytes of `memory` and waits for completion.
  // The pointers are valid in the current GPU's address space.
  static Result<std::unique_ptr<LinkChase>> Create(void* memory, int64_t bytes, uint64_t seed,
                                                   cudaStream_t stream);

  // Enqueues one iteration on the stream: a walk along the chain of pointers, starting where the
  // previous one ended. The loads always bypass this GPU's L1 cache.
  Status Enqueue();
  // Overwrites the result of the latest walk, so that Check() fails unless another walk follows.
  Status Poison();
  // Checks every element of the chain and the end of the latest walk. Waits for the stream.
  Result<Verdict> Check();

 private:
  LinkChase(void* memory, int64_t bytes, uint64_t seed, cudaStream_t stream);

  const cudaStream_t stream_;
  PointerChain chain_;
  DeviceBuffer end_;
  int64_t position_ = 0;  // Start of the next walk within the cycle.
};

}  // namespace assay
