// Exact comparison on the device: counts the wrong elements and finds the first one.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <limits>
#include <string>

#include "kernels/benchmark.h"
#include "kernels/cuda/frame/device.h"

namespace assay {

// The result of a comparison kernel, in device memory.
struct Mismatches {
  unsigned long long count = 0;
  unsigned long long first = std::numeric_limits<unsigned long long>::max();
};

// Owns a Mismatches in device memory and evaluates it on the host.
class MismatchCounter {
 public:
  // Allocates the counter and enqueues clearing it on `stream`.
  static Result<MismatchCounter> Create(cudaStream_t stream);

  Mismatches* device() const { return buffer_.as<Mismatches>(); }

  // Waits for `stream` and returns the verdict on `elements` compared elements at `data`, each of
  // `element_bytes` bytes. If any are wrong, the verdict's detail shows the bytes of the first one.
  Result<Verdict> Read(const void* data, int64_t elements, int64_t element_bytes,
                       cudaStream_t stream) const;

 private:
  DeviceBuffer buffer_;
};

#ifdef __CUDACC__
// Counts a wrong element. May be called by any thread. Wrong elements are rare, so the atomics
// are cheap.
__device__ inline void Report(Mismatches* mismatches, int64_t index) {
  atomicAdd(&mismatches->count, 1ULL);
  atomicMin(&mismatches->first, static_cast<unsigned long long>(index));
}
#endif

}  // namespace assay
