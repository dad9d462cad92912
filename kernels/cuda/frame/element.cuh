// Helpers for the element types of kernels (fp32, bf16, fp16): conversions, random values, and
// dispatch from a type's name to a template argument.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <string>

#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/gpu_parameters.h"
#include "kernels/cuda/frame/random.cuh"

namespace assay {

// Rounds `value` to T, to nearest even.
template <typename T>
__host__ __device__ T Narrow(float value);
template <>
__host__ __device__ inline float Narrow(float value) {
  return value;
}
template <>
__host__ __device__ inline double Narrow(float value) {
  return value;
}
template <>
__host__ __device__ inline __nv_bfloat16 Narrow(float value) {
  return __float2bfloat16_rn(value);
}
template <>
__host__ __device__ inline __half Narrow(float value) {
  return __float2half_rn(value);
}

template <typename T>
__host__ __device__ double Widen(T value) {
  return static_cast<double>(static_cast<float>(value));
}

template <>
__host__ __device__ inline double Widen(double value) {
  return value;
}

// Carries a type in a function argument; decltype(tag)::Type is the type.
template <typename T>
struct TypeTag {
  using Type = T;
};

// Calls `body` with the TypeTag of "fp32", "bf16" or "fp16".
template <typename Body>
auto WithElementType(const std::string& dtype, const Body& body) {
  if (dtype == "bf16") return body(TypeTag<__nv_bfloat16>());
  if (dtype == "fp16") return body(TypeTag<__half>());
  return body(TypeTag<float>());
}

// Returns element `index` of the random sequence selected by `seed` and `stream`. Values are
// approximately normal with mean 0 and variance 1, and identical on host and device.
template <typename T>
__host__ __device__ T RandomElement(uint64_t seed, uint64_t stream, int64_t index) {
  return Narrow<T>(NearNormal(RandomBits(seed, stream, static_cast<uint64_t>(index))));
}

#ifdef __CUDACC__
template <typename T>
__global__ void FillRandomKernel(T* out, int64_t count, uint64_t seed, uint64_t stream,
                                 int64_t first) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    out[i] = RandomElement<T>(seed, stream, first + i);
  }
}

// Fills an array with zeros, or with consecutive elements of a random sequence, starting at element
// `first` of the sequence. Benchmarks that rotate through several copies ("sets") of their arrays
// pass first = set * elements to give every copy different contents.
template <typename T>
Status FillElements(T* out, int64_t count, bool zeros, uint64_t seed, uint64_t stream,
                    int64_t first, cudaStream_t cuda_stream) {
  if (zeros) {
    ASSAY_CUDA(cudaMemsetAsync(out, 0, static_cast<size_t>(count) * sizeof(T), cuda_stream));
    return Status::Ok();
  }
  const int64_t blocks = count < (int64_t{1} << 20) ? (count + 255) / 256 : 4096;
  FillRandomKernel<<<static_cast<unsigned>(blocks > 0 ? blocks : 1), 256, 0, cuda_stream>>>(
      out, count, seed, stream, first);
  ASSAY_CUDA(cudaGetLastError());
  return Status::Ok();
}
#endif

}  // namespace assay
