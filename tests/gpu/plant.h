// Copies bytes of the host to the memory of a GPU, for tests that corrupt an output.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

#include "kernels/cuda/frame/cuda_check.h"

namespace assay {

// Copies synchronously. A copy from pageable memory returns before it is complete, and the streams
// of the cases, which do not wait for the default stream, may overtake it on a busy GPU.
inline cudaError_t WriteToGpu(void* to, const void* from, size_t bytes) {
  const cudaError_t copied = cudaMemcpy(to, from, bytes, cudaMemcpyDefault);
  return copied == cudaSuccess ? cudaDeviceSynchronize() : copied;
}

// Writes `bytes` bytes of 0xff, NaN in every floating type, at `data`.
inline Status PlantNan(void* data, size_t bytes) {
  ASSAY_CUDA(cudaMemset(data, 0xff, bytes));
  ASSAY_CUDA(cudaDeviceSynchronize());
  return Status::Ok();
}

// Memory that CUDA can access, set to other bytes during the object's life.
class Plant {
 public:
  Plant(void* at, const std::vector<unsigned char>& bytes) : at_(at), saved_(bytes.size()) {
    cudaMemcpy(saved_.data(), at_, saved_.size(), cudaMemcpyDefault);
    WriteToGpu(at_, bytes.data(), bytes.size());
  }
  ~Plant() { WriteToGpu(at_, saved_.data(), saved_.size()); }
  Plant(const Plant&) = delete;
  Plant& operator=(const Plant&) = delete;

 private:
  void* at_;
  std::vector<unsigned char> saved_;
};

}  // namespace assay
