// Compares exactly on the device: counts wrong elements and finds the first.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <limits>
#include <string>

#include "kernels/benchmark.h"
#include "kernels/cuda/frame/device.h"

namespace assay {

// In device memory while a kernel adds to it.
struct Mismatches {
  unsigned long long count = 0;
  unsigned long long first = std::numeric_limits<unsigned long long>::max();
};

// A Mismatches on the device and its copy to the host.
class MismatchCounter {
 public:
  // Enqueues setting it to zero on `stream`.
  static Result<MismatchCounter> Create(cudaStream_t stream);

  Mismatches* device() const { return buffer_.as<Mismatches>(); }

  // Synchronises with `stream` and returns the verdict on `elements` compared elements of
  // `element_bytes` at `data`. The detail shows the first wrong element's bytes.
  Result<Verdict> Read(const void* data, int64_t elements, int64_t element_bytes,
                       cudaStream_t stream) const;

 private:
  DeviceBuffer buffer_;
};

#ifdef __CUDACC__
// Counts a wrong element. Any thread may call it; wrong elements are rare, so atomics cost nothing.
__device__ inline void Report(Mismatches* mismatches, int64_t index) {
  atomicAdd(&mismatches->count, 1ULL);
  atomicMin(&mismatches->first, static_cast<unsigned long long>(index));
}
#endif

}  // namespace assay
