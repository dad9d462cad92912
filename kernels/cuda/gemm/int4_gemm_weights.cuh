// Supplies GemvKernel with a matrix W of 4-bit integers, packed as in int4_gemm_data.h. An element
// of W is scale * (q - zero), where q and zero are integers from 0 to 15. In each column, `group`
// neighbors along k share `scale` and `zero`, which are stored in the type of x.
#pragma once

#include <cstdint>

#include "kernels/cuda/frame/async_copy.cuh"
#include "kernels/cuda/frame/tensor_core.cuh"
#include "kernels/cuda/gemm/int4_gemm_data.h"
#include "kernels/cuda/gemv/gemv_kernel.cuh"

namespace assay {

// {scale, zero}, as stored.
template <typename T>
struct alignas(4) Int4Scale {
  T scale;
  T zero;
};

#if defined(__CUDACC__) && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800)
// Constants for converting 4-bit integers to fp16 or bf16 without a conversion instruction. Writing
// an integer to the lowest mantissa bits of the number 1024 (fp16) or 128 (bf16) adds it to that
// number. The caller must then subtract the number. Int4Pair() converts two integers at once: the
// lowest 4 bits of each half of a word.
template <typename T>
struct Int4Magic;
template <>
struct Int4Magic<__half> {
  using Pair = __half2;
  static constexpr uint32_t kBits = 0x64006400;
};
template <>
struct Int4Magic<__nv_bfloat16> {
  using Pair = __nv_bfloat162;
  static constexpr uint32_t kBits = 0x43004300;
};

template <typename T>
__device__ typename Int4Magic<T>::Pair Int4Pair(uint32_t word) {
  uint32_t bits;
  // Computes (word & 0x000f000f) | kBits in one instruction.
  asm("lop3.b32 %0, %1, 0x000f000f, %2, 0xea;" : "=r"(bits) : "r"(word), "r"(Int4Magic<T>::kBits));
  typename Int4Magic<T>::Pair pair;
  memcpy(&pair, &bits, sizeof pair);
  return pair;
}
#endif

// A policy class that supplies 4-bit weights to GemvKernel. The tensor cores multiply x by the
// exact integers q - zero. Sums over 64 elements along k (32 for groups of 32) are then scaled in
// fp32.
template <typename T, int group_at_least>
struct Int4Weights {
  const uint4* values = nullptr;
  const Int4Scale<T>* scales = nullptr;
  int64_t pairs = 0;
  int64_t units = 0;
  int64_t groups = 0;
  int group_shift = 0;  // log2(group).

  // Number of scales that a chunk needs.
  static constexpr int kGroups = group_at_least < kGemvChunk ? 2 : 1;
  static constexpr int kStageBytes = 512 + kGroups * 256;
  struct Scales {
    float scale[kGroups][2];
  };
  struct Cursor {
    const uint4* values;
    const Int4Scale<T>* scales;
    bool valid;
  };

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  __device__ Cursor At(int64_t tile, int lane) const {
    const bool valid = tile / 2 < pairs;
    const int64_t pair = valid ? tile / 2 : 0;
    return {values + pair * units * 128 + tile % 2 * 64 + lane,
            scales + (pair * groups * 2 + tile % 2) * 16 + lane / 4 * 2, valid};
  }

  __device__ void Load(char* stage, const Cursor& cursor, int64_t chunk, int lane) const {
    CopyAsync<16>(stage + lane * 16, cursor.values + chunk / 2 * 128 + chunk % 2 * 32,
                  cursor.valid);
#pragma unroll
    for (int part = 0; part < kGroups; ++part) {
      const int64_t group = (chunk * kGemvChunk + part * 32) >> group_shift;
      CopyAsync<8>(stage + 512 + part * 256 + lane * 8, cursor.scales + group * 32, cursor.valid);
    }
  }

  __device__ static Scales Fragments(const char* stage, int lane, uint32_t (&a)[kGemvSteps][4]) {
    using Pair = typename Int4Magic<T>::Pair;
    const uint4 vector = *reinterpret_cast<const uint4*>(stage + lane * 16);
    const uint32_t words[kGemvSteps] = {vector.x, vector.y, vector.z, vector.w};
    Scales result;
    Pair zero[kGroups][2];
    const Pair magic = Int4Pair<T>(0);
#pragma unroll
    for (int part = 0; part < kGroups; ++part) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const auto stored =
            *reinterpret_cast<const Int4Scale<T>*>(stage + 512 + part * 256 + lane * 8 + half * 4);
        result.scale[part][half] = static_cast<float>(stored.scale);
        zero[part][half] = __hadd2(magic, Pair(stored.zero, stored.zero));
      }
    }
#pragma unroll
    for (int step = 0; step < kGemvSteps; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const Pair pair =
            __hsub2(Int4Pair<T>(words[step] >> (4 * i)), zero[kGroups == 2 ? step / 2 : 0][i % 2]);
        memcpy(&a[step][i], &pair, sizeof pair);
      }
    }
    return result;
  }

  template <typename X>
  __device__ static void Multiply(const uint32_t (&a)[kGemvSteps][4], const uint4 (&x)[2],
                                  const Scales& scales, float (&sum)[4]) {
#pragma unroll
    for (int part = 0; part < kGroups; ++part) {
      float products[4] = {};
      if (kGroups == 1 || part == 0) {
        MultiplyTile<X>(products, a[0], x[0].x, x[0].y);
        MultiplyTile<X>(products, a[1], x[0].z, x[0].w);
      }
      if (kGroups == 1 || part == 1) {
        MultiplyTile<X>(products, a[2], x[1].x, x[1].y);
        MultiplyTile<X>(products, a[3], x[1].z, x[1].w);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) sum[i] += scales.scale[part][i / 2] * products[i];
    }
  }
#endif
};

}  // namespace assay
