// The values of a GEMM's inputs, identical on host and device.
#pragma once

#include <cuda_fp8.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/frame/element.cuh"
#include "kernels/cuda/gemm/gemm_data.h"

namespace assay {

// Random sequences of A and of B.
inline constexpr uint64_t kStreamA = 1;
inline constexpr uint64_t kStreamB = 2;

// Standard deviation of int8 inputs. No value exceeds 3.4641 times it.
inline constexpr float kInt8Deviation = 32;

template <>
__host__ __device__ inline __nv_fp8_e4m3 Narrow(float value) {
  return __nv_fp8_e4m3(value);
}
template <>
__host__ __device__ inline __nv_fp8_e5m2 Narrow(float value) {
  return __nv_fp8_e5m2(value);
}
template <>
__host__ __device__ inline int8_t Narrow(float value) {
  return static_cast<int8_t>(rintf(value * kInt8Deviation));
}
// Adds 53 bits to NearNormal's 18, so that every bit of a double's mantissa is used.
__host__ __device__ inline double NearNormalDouble(uint64_t bits) {
  const int sum = static_cast<int>(bits & 0xffff) + static_cast<int>((bits >> 16) & 0xffff) +
                  static_cast<int>((bits >> 32) & 0xffff) + static_cast<int>(bits >> 48);
  const double fraction = static_cast<double>(Mix64(bits) >> 11) * 0x1p-53 - 0.5;
  const double centred = static_cast<double>(sum - 2 * 65535) + fraction;
  constexpr double kInverseDeviation = 2.6428998e-05;
#ifdef __CUDA_ARCH__
  return __dmul_rn(centred, kInverseDeviation);
#else
  return centred * kInverseDeviation;
#endif
}

template <>
__host__ __device__ inline double Widen(int32_t value) {
  return static_cast<double>(value);
}

// Returns element `index` of A's or B's sequence.
template <typename T>
__host__ __device__ T InputValue(const GemmInputs& inputs, uint64_t stream, int64_t index) {
  if (inputs.zeros) return T(0.0F);
  const uint64_t bits = RandomBits(inputs.seed, stream, static_cast<uint64_t>(index));
  if constexpr (std::is_same_v<T, double>) {
    return NearNormalDouble(bits);
  } else {
    return Narrow<T>(NearNormal(bits));
  }
}

}  // namespace assay
