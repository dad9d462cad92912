// The latency of a link: one GPU thread follows a chain of addresses through remote memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/benchmark.h"

namespace assay {

// A walk over memory that the current GPU can access. The memory outlives it.
class LinkChase {
 public:
  virtual ~LinkChase() = default;

  // Writes the chain to `bytes` of `memory`, at the GPU's addresses, and synchronises.
  static Result<std::unique_ptr<LinkChase>> Create(void* memory, int64_t bytes, uint64_t seed,
                                                   cudaStream_t stream);

  // Enqueues an iteration, which continues where the last one ended. No cache of this GPU's
  // multiprocessors serves its loads.
  virtual Status Enqueue() = 0;
  // Overwrites the data that Check reads.
  virtual Status Poison() = 0;
  // Checks every element of the chain and the end of the latest walk. Synchronises.
  virtual Result<Verdict> Check() = 0;
};

}  // namespace assay
