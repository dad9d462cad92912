// The values of a GEMM's inputs, the same on host and device.
#pragma once

#include <cstdint>

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/gemm_data.h"

namespace assay {

// Random sequences of A and of B.
inline constexpr uint64_t kStreamA = 1;
inline constexpr uint64_t kStreamB = 2;

// Element `index` of A's or B's sequence.
template <typename T>
__host__ __device__ T InputValue(const GemmInputs& inputs, uint64_t stream, int64_t index) {
  if (inputs.zeros) return Narrow<T>(0.0F);
  return Narrow<T>(NearNormal(RandomBits(inputs.seed, stream, static_cast<uint64_t>(index))));
}

}  // namespace assay
