// Exact comparisons on the device: how many elements are wrong, and which is first.
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

// A Mismatches on the device, and its way back.
class MismatchCounter {
 public:
  // Begins with none, as `stream` reaches it.
  static Result<MismatchCounter> Create(cudaStream_t stream);

  Mismatches* device() const { return buffer_.as<Mismatches>(); }

  // The verdict on `elements` compared elements of `element_bytes` at `data`, once
  // `stream` has come this far. The first wrong one's bytes are in the detail.
  Result<Verdict> Read(const void* data, int64_t elements, int64_t element_bytes,
                       cudaStream_t stream) const;

 private:
  DeviceBuffer buffer_;
};

#ifdef __CUDACC__
// Counts a wrong element. Any thread may call it; wrong elements are rare, so
// atomics cost nothing.
__device__ inline void Report(Mismatches* mismatches, int64_t index) {
  atomicAdd(&mismatches->count, 1ULL);
  atomicMin(&mismatches->first, static_cast<unsigned long long>(index));
}
#endif

}  // namespace assay
