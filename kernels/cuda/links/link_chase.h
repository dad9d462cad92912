// The latency of a link: one thread of the GPU follows a chain of addresses through memory
// that is not its own.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/benchmark.h"

namespace assay {

// A parameter "bytes": the working set. `memory` completes "of ...".
ParameterSpec ChaseBytesParameter(const std::string& memory);
// Metrics "latency" (ns a load) and "time".
std::vector<Metric> ChaseMetrics();
// A walk's loads, over Work::link `link`.
Work ChaseWork(const std::string& link);

// A walk over memory that the current GPU reaches. The memory outlives it.
class LinkChase {
 public:
  virtual ~LinkChase() = default;

  // Writes the chain to `bytes` of `memory`, as the GPU addresses it, and waits.
  static Result<std::unique_ptr<LinkChase>> Create(void* memory, int64_t bytes, uint64_t seed,
                                                   cudaStream_t stream);

  // Enqueues an iteration: loads from where the last one ended. No cache of this GPU's
  // multiprocessors answers them.
  virtual Status Enqueue() = 0;
  // Spoils what Check looks at.
  virtual Status Poison() = 0;
  // Compares the chain, every element, and where the latest walk ended. Waits.
  virtual Result<Verdict> Check() = 0;
};

}  // namespace assay
