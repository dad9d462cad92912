// Elements of every type on the host, for tests that compute the expected results of a GPU or a
// vendor's library there.
#pragma once

#include <cuda_runtime_api.h>

#include <type_traits>
#include <vector>

#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/nccl/reduce_values.cuh"
#include "tests/gpu/plant.h"

namespace assay {

// Rounds `value` to T, to nearest even; for an integer type, converts it to the value that T holds.
template <typename T>
T RoundTo(double value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(value);
  } else {
    return static_cast<T>(static_cast<float>(value));
  }
}

// Returns `count` elements at `data` after synchronising with `stream`.
template <typename T>
Result<std::vector<T>> ReadFromGpu(const void* data, size_t count, cudaStream_t stream) {
  std::vector<T> elements(count);
  ASSAY_CUDA(cudaStreamSynchronize(stream));
  ASSAY_CUDA(cudaMemcpy(elements.data(), data, count * sizeof(T), cudaMemcpyDefault));
  return elements;
}

template <typename T>
Status WriteToGpu(void* data, const std::vector<T>& elements) {
  ASSAY_CUDA(WriteToGpu(data, elements.data(), elements.size() * sizeof(T)));
  return Status::Ok();
}

}  // namespace assay
