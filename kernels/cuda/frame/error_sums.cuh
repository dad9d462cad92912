// Compares a kernel's output in device memory with a higher-precision reference. There are two
// limits: one on the relative error ||out - ref|| / ||ref|| of the whole output, and one on each
// element, so that even one wrong element among billions is detected. NaN always fails.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <limits>
#include <string>

#include "kernels/benchmark.h"
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/device.h"

namespace assay {

// The largest errors that a correct output may have.
struct ErrorLimits {
  // Limit of ||out - ref|| / ||ref||.
  double tolerance = 0;
  // The limit on the error of a single element, |out - ref| / max(|ref|, typical). Usually several
  // times `tolerance`, because a single element may deviate more than the average.
  double element = 0;
  // The size of a typical element of the reference. Smaller elements may be almost 0, so their
  // errors are taken relative to `typical` instead.
  double typical = 0;
};

// Sums that a comparison kernel computes in device memory.
struct ErrorSums {
  double error_squared = 0;
  double reference_squared = 0;
  unsigned long long first_bad = std::numeric_limits<unsigned long long>::max();
};

// Owns an ErrorSums in device memory and evaluates it on the host.
class ErrorAccumulator {
 public:
  // Allocates the sums and enqueues clearing them on `stream`.
  static Result<ErrorAccumulator> Create(cudaStream_t stream);

  ErrorSums* device() const { return buffer_.as<ErrorSums>(); }

  // Waits for `stream` and returns the verdict on `elements` compared elements. `reference`
  // appears in the verdict and says what the output was compared with, such as "fp64 on device,
  // every element".
  Result<Verdict> Read(int64_t elements, const ErrorLimits& limits, std::string reference,
                       cudaStream_t stream) const;

 private:
  DeviceBuffer buffer_;
};

#ifdef __CUDACC__
// The errors found by one thread of a comparison kernel. The thread calls Add() for each of its
// elements and then Flush() once. All 32 threads of a warp must call Flush() together.
class ErrorThread {
 public:
  __device__ ErrorThread(const ErrorLimits& limits, ErrorSums* sums)
      : limits_(limits), sums_(sums) {}

  __device__ void Add(int64_t index, double actual, double reference) {
    const double error = fabs(actual - reference);
    // Negated, so that NaN fails.
    if (!(error <= limits_.element * fmax(fabs(reference), limits_.typical))) {
      atomicMin(&sums_->first_bad, static_cast<unsigned long long>(index));
    }
    error_squared_ += error * error;
    reference_squared_ += reference * reference;
  }

  __device__ void Flush() {
    for (int offset = 16; offset > 0; offset /= 2) {
      error_squared_ += __shfl_down_sync(0xffffffff, error_squared_, offset);
      reference_squared_ += __shfl_down_sync(0xffffffff, reference_squared_, offset);
    }
    if ((threadIdx.x + threadIdx.y * blockDim.x) % 32 != 0) return;
    atomicAdd(&sums_->error_squared, error_squared_);
    atomicAdd(&sums_->reference_squared, reference_squared_);
  }

 private:
  const ErrorLimits limits_;
  ErrorSums* const sums_;
  double error_squared_ = 0;
  double reference_squared_ = 0;
};

// Compares `count` elements of an output with a reference. `value` and `reference` are device
// functions that return the element of the output and the reference at a given index (int64_t).
template <typename Value, typename Reference>
__global__ void CompareElementsKernel(Value value, Reference reference, int64_t count,
                                      ErrorLimits limits, ErrorSums* sums) {
  ErrorThread thread(limits, sums);
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    thread.Add(i, value(i), reference(i));
  }
  thread.Flush();
}

// Compares `count` elements. Synchronizes with `stream`.
template <typename Value, typename Reference>
Result<Verdict> CompareElements(Value value, Reference reference, int64_t count,
                                const ErrorLimits& limits, const std::string& what,
                                cudaStream_t stream) {
  ASSAY_ASSIGN_OR_RETURN(const ErrorAccumulator sums, ErrorAccumulator::Create(stream));
  CompareElementsKernel<<<2048, 256, 0, stream>>>(value, reference, count, limits, sums.device());
  ASSAY_CUDA(cudaGetLastError());
  return sums.Read(count, limits, what, stream);
}
#endif

}  // namespace assay
