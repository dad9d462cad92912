// Computes y = x W for up to 8 rows of x, where W consists of 4-bit integers q (see
// int4_gemm_data.h). A block computes 32 columns of y. Its warps divide k in units of 128, and
// every lane loads `depth` units ahead. To save instructions, the tensor cores multiply x by q +
// bias, which is faster to compute than q itself. They also compute the sum of x, which is used to
// subtract the bias and the zero point from the results. With only about three instructions per
// weight, the kernel is limited by memory bandwidth.
#pragma once

#include <cstdint>

#include "kernels/cuda/frame/dependent_launch.cuh"
#include "kernels/cuda/frame/tensor_core.cuh"
#include "kernels/cuda/gemm/int4_gemm_weights.cuh"
#include "kernels/cuda/gemv/gemv_kernel.cuh"

namespace assay {

inline constexpr int kInt4GemvRows = 8;  // Maximum number of rows of x.
inline constexpr int kInt4GemvColumns = 2 * kGemvTile;

// Sizes of one product. Pointers are on the device.
template <typename T>
struct Int4GemvArguments {
  const T* x = nullptr;
  const uint4* values = nullptr;
  const uint2* scales = nullptr;  // Pairs of {scale, zero}.
  T* y = nullptr;
  int m = 0;
  int n = 0;
  int k = 0;
  int units = 0;
};

// Distance in bytes between rows of x in shared memory: rows start half of the banks apart.
__host__ __device__ inline int Int4GemvPitch(int units) { return units * 256 + 64; }

// Returns the shared memory for x's rows, a unit of zeros, and the warps' sums.
inline int64_t Int4GemvSharedBytes(int64_t m, int64_t k, int warps) {
  const auto units = static_cast<int>((k + 127) / 128);
  return m * Int4GemvPitch(units) + 256 + warps * m * kInt4GemvColumns * 4;
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

// The part of W that a lane loads for a unit: `parts` groups of two tiles.
template <int parts>
struct Int4Unit {
  uint4 values[4];
  uint2 scales[2 * parts];
};

template <int parts>
__device__ void LoadUnit(const uint4* values, const uint2* scales, Int4Unit<parts>* unit) {
#pragma unroll
  for (int i = 0; i < 4; ++i) unit->values[i] = __ldcs(values + i * 32);
#pragma unroll
  for (int i = 0; i < 2 * parts; ++i) unit->scales[i] = __ldg(scales + i * 8);
}

template <typename T>
__device__ void UnpackInt4(uint32_t word, uint32_t (&a)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const auto pair = Int4Pair<T>(word >> (4 * i));
    memcpy(&a[i], &pair, sizeof pair);
  }
}

// Adds a unit's products to the sums of two tiles. `x` is the lane's part of x in the unit.
template <typename T, int parts>
__device__ void MultiplyUnit(const Int4Unit<parts>& unit, const char* x, float (&sum)[2][4]) {
  constexpr float kBias = std::is_same_v<T, __half> ? 1024.0F : 128.0F;
  constexpr uint32_t kOnes = std::is_same_v<T, __half> ? 0x3c003c00 : 0x3f803f80;
  constexpr int kHalves = 4 / parts;  // Halves of chunks per part.
  const uint32_t ones[4] = {kOnes, kOnes, kOnes, kOnes};
#pragma unroll
  for (int part = 0; part < parts; ++part) {
    float products[2][4] = {};
    float x_sum[4] = {};
#pragma unroll
    for (int i = 0; i < kHalves; ++i) {
      const int half = part * kHalves + i;
      const uint4 vector = *reinterpret_cast<const uint4*>(x + half * 64);
      MultiplyTile<T>(x_sum, ones, vector.x, vector.y);
      MultiplyTile<T>(x_sum, ones, vector.z, vector.w);
#pragma unroll
      for (int tile = 0; tile < 2; ++tile) {
        const uint4 words = unit.values[tile * 2 + half / 2];
        uint32_t a[4];
        UnpackInt4<T>(half % 2 == 0 ? words.x : words.z, a);
        MultiplyTile<T>(products[tile], a, vector.x, vector.y);
        UnpackInt4<T>(half % 2 == 0 ? words.y : words.w, a);
        MultiplyTile<T>(products[tile], a, vector.z, vector.w);
      }
    }
#pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
      Int4Scale<T> stored[2];
      memcpy(stored, &unit.scales[part * 2 + tile], sizeof stored);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float zero = static_cast<float>(stored[i / 2].zero) + kBias;
        sum[tile][i] +=
            static_cast<float>(stored[i / 2].scale) * (products[tile][i] - zero * x_sum[i % 2]);
      }
    }
  }
}

// Prefetches x into the L2 cache. Harmless if the previous kernel has not written it yet.
template <typename T>
__device__ void PrefetchX(const Int4GemvArguments<T>& arguments) {
  constexpr int kLine = 128 / sizeof(T);
  const int elements = arguments.m * arguments.k;
  for (int i = threadIdx.x * kLine; i < elements; i += static_cast<int>(blockDim.x) * kLine) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(arguments.x + i));
  }
}

// Copies x to shared memory, with zeros beyond k and for one unit after the last row.
template <typename T>
__device__ void StageX(const Int4GemvArguments<T>& arguments, char* shared) {
  const int pitch = Int4GemvPitch(arguments.units);
  const int vectors = arguments.k / 8;
  for (int row = 0; row < arguments.m; ++row) {
    const auto* const from = reinterpret_cast<const uint4*>(arguments.x) + row * vectors;
    for (int i = threadIdx.x; i < arguments.units * 16; i += static_cast<int>(blockDim.x)) {
      *reinterpret_cast<uint4*>(shared + row * pitch + i * 16) =
          i < vectors ? from[i] : make_uint4(0, 0, 0, 0);
    }
  }
  if (threadIdx.x < 16) {
    *reinterpret_cast<uint4*>(shared + arguments.m * pitch + threadIdx.x * 16) =
        make_uint4(0, 0, 0, 0);
  }
}

#endif

// Computes the product with one block per 32 columns. `parts` is the number of groups per unit.
template <typename T, int parts, int warps, int depth, int blocks>
__global__ void __launch_bounds__(32 * warps, blocks)
    Int4GemvKernel(Int4GemvArguments<T> arguments) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) char shared[];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int m = arguments.m;
  const int pitch = Int4GemvPitch(arguments.units);
  const int64_t first = int64_t{blockIdx.x} * arguments.units + warp;
  const uint4* values = arguments.values + first * 128 + lane;
  const uint2* scales = arguments.scales + first * parts * 16 + lane / 4;
  int ahead = warp;  // The unit that is loaded next.
  const auto advance = [&] {
    values += warps * 128;
    scales += warps * parts * 16;
    ahead += warps;
  };
  AllowNext();
  Int4Unit<parts> unit[depth];
#pragma unroll
  for (int i = 0; i < depth; ++i) {
    if (ahead < arguments.units) LoadUnit<parts>(values, scales, &unit[i]);
    advance();
  }
  PrefetchX(arguments);
  WaitForPrevious();
  StageX(arguments, shared);
  __syncthreads();
  const bool real = lane / 4 < m;
  const char* x = shared + lane % 4 * 16 + (real ? lane / 4 * pitch + warp * 256 : m * pitch);
  const int x_step = real ? warps * 256 : 0;
  float sum[2][4] = {};
  for (int at = warp; at < arguments.units; at += depth * warps) {
#pragma unroll
    for (int i = 0; i < depth; ++i) {
      if (at + i * warps >= arguments.units) break;
      MultiplyUnit<T>(unit[i], x, sum);
      x += x_step;
      if (ahead < arguments.units) LoadUnit<parts>(values, scales, &unit[i]);
      advance();
    }
  }
  auto* const sums = reinterpret_cast<float*>(shared + m * pitch + 256);
#pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = lane % 4 * 2 + i % 2;
      const int column = tile * kGemvTile + lane / 4 + i / 2 * 8;
      if (row < m) sums[(warp * m + row) * kInt4GemvColumns + column] = sum[tile][i];
    }
  }
  __syncthreads();
  for (int output = threadIdx.x; output < m * kInt4GemvColumns; output += 32 * warps) {
    float total = 0;
#pragma unroll
    for (int i = 0; i < warps; ++i) total += sums[i * m * kInt4GemvColumns + output];
    const int column = static_cast<int>(blockIdx.x) * kInt4GemvColumns + output % 32;
    if (column < arguments.n) {
      arguments.y[int64_t{output / 32} * arguments.n + column] = Narrow<T>(total);
    }
  }
#endif
}

}  // namespace assay
