// The values of a GEMM's inputs, the same on host and device.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/cuda/gemm_data.h"
#include "kernels/cuda/random.cuh"

namespace assay {

// Random sequences of A and of B.
inline constexpr uint64_t kStreamA = 1;
inline constexpr uint64_t kStreamB = 2;

// `value` rounded to T.
template <typename T>
__host__ __device__ T Narrow(float value);
template <>
__host__ __device__ inline float Narrow(float value) {
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

// Element `index` of A's or B's sequence.
template <typename T>
__host__ __device__ T InputValue(const GemmInputs& inputs, uint64_t stream, int64_t index) {
  if (inputs.zeros) return Narrow<T>(0.0F);
  return Narrow<T>(NearNormal(RandomBits(inputs.seed, stream, static_cast<uint64_t>(index))));
}

}  // namespace assay
