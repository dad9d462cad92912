// Elements of every type on the host, for tests that compute there what a GPU or a vendor's
// library would have.
#pragma once

#include <cuda_runtime_api.h>

#include <type_traits>
#include <vector>

#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/nccl/reduce_values.cuh"
#include "tests/gpu/plant.h"

namespace assay {

// `value` rounded to T, to nearest even; of an integer type, what T holds.
template <typename T>
T RoundTo(double value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(value);
  } else {
    return static_cast<T>(static_cast<float>(value));
  }
}

// `count` elements at `data`, after what `stream` has to do.
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
