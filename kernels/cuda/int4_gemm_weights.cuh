// W as 4-bit integers: w(k, column) = scale * (q - zero), scale and zero point shared by
// `group` neighbours of k in a column. q and zero are 0..15; a scale is of x's type.
//
// Packed for the tensor cores, so that a lane's 16 bytes are what it multiplies with:
// - Values: [tile of 16 columns][chunk of 64 of k][lane][4 words]. With g = lane / 4 and
//   t = lane % 4, nibble i (i < 4) of word s, and nibble i + 4, hold
//   column g + 8 (i % 2), k = 32 (s / 2) + 8 t + 4 (s % 2) + 2 (i / 2), and the next k.
// - Scales: [tile][group of k][8][2] pairs {scale, zero} of x's type: of columns
//   g and g + 8, for g in 0..7.
// Columns beyond n, which fill the last tile, are zeros throughout.
#pragma once

#include <cstdint>

#include "kernels/cuda/gemv_burst.cuh"
#include "kernels/cuda/gemv_kernel.cuh"

namespace assay {

// {scale, zero}, as stored.
template <typename T>
struct alignas(4) Int4Scale {
  T scale;
  T zero;
};

// Of a value: its element of W.
struct Int4Place {
  int64_t k = 0;
  int64_t column = 0;
};

// Sizes of the packed arrays. k is a multiple of 64 and of `group`.
struct Int4Layout {
  int64_t n = 0;
  int64_t k = 0;
  int64_t group = 0;

  __host__ __device__ int64_t Tiles() const { return (n + kGemvTile - 1) / kGemvTile; }
  __host__ __device__ int64_t Chunks() const { return k / kGemvChunk; }
  __host__ __device__ int64_t ValueBytes() const { return Tiles() * Chunks() * 512; }
  __host__ __device__ int64_t ScaleBytes() const { return Tiles() * (k / group) * 64; }

  // What nibble `nibble` of word `word` of the values is.
  __host__ __device__ Int4Place PlaceOf(int64_t word, int nibble) const {
    const int64_t step = word % 4;
    const int64_t lane = word / 4 % 32;
    const int64_t chunk = word / 128 % Chunks();
    const int64_t tile = word / 128 / Chunks();
    const int pair = nibble % 4;
    return {chunk * kGemvChunk + step / 2 * 32 + lane % 4 * 8 + step % 2 * 4 + pair / 2 * 2 +
                nibble / 4,
            tile * kGemvTile + lane / 4 + pair % 2 * 8};
  }
};

#if defined(__CUDACC__) && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800)
// A pair of neighbours, less the zero point, from the low nibbles of a word's halves.
// Small integers are exact in both types: with the exponent of 1024 (fp16) or 128
// (bf16) the nibble is the lowest bits of the mantissa.
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
  // (word & 0x000f000f) | kBits in one instruction.
  asm("lop3.b32 %0, %1, 0x000f000f, %2, 0xea;" : "=r"(bits) : "r"(word), "r"(Int4Magic<T>::kBits));
  typename Int4Magic<T>::Pair pair;
  memcpy(&pair, &bits, sizeof pair);
  return pair;
}
#endif

// A policy of GemvKernel. Integers are multiplied as they are, exactly, and a chunk's
// sums (or half a chunk's, for groups of 32) are scaled in fp32.
template <typename T, int group_at_least>
struct Int4Weights {
  const uint4* values = nullptr;
  const Int4Scale<T>* scales = nullptr;
  int64_t tiles = 0;
  int64_t chunks = 0;
  int64_t groups = 0;
  int group_shift = 0;  // log2(group).

  // Scales that a chunk needs.
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
    const bool valid = tile < tiles;
    const int64_t inside = valid ? tile : 0;
    return {values + inside * chunks * 32 + lane, scales + (inside * groups * 8 + lane / 4) * 2,
            valid};
  }

  __device__ void Load(char* stage, const Cursor& cursor, int64_t chunk, int lane) const {
    CopyAsync16(stage + lane * 16, cursor.values + chunk * 32, cursor.valid);
#pragma unroll
    for (int part = 0; part < kGroups; ++part) {
      const int64_t group = (chunk * kGemvChunk + part * 32) >> group_shift;
      CopyAsync8(stage + 512 + part * 256 + lane * 8, cursor.scales + group * 16, cursor.valid);
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

// A policy of GemvBurstKernel. The tensor cores multiply q + bias, whatever the exponent
// of the conversion adds; (zero + bias) times the sum of x is taken off again in fp32.
// `parts`: how many groups two chunks, which is 128 of k, lie in.
template <typename T, int parts>
struct Int4Burst {
  const uint4* values = nullptr;
  const Int4Scale<T>* scales = nullptr;
  int64_t chunks = 0;
  int64_t groups = 0;
  int group_shift = 0;  // log2(group).

  static constexpr int kPartsOfTwoChunks = parts;
  template <int chunks>
  struct Burst {
    uint4 values[chunks];
    uint2 scales[chunks / 2 * parts];  // Of columns g and g + 8.
  };
  struct Cursor {
    const uint4* values;
    const Int4Scale<T>* scales;
  };

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  __device__ Cursor At(int64_t strip, int lane) const {
    return {values + strip * chunks * 32 + lane, scales + (strip * groups * 8 + lane / 4) * 2};
  }

  template <int count>
  __device__ void Load(const Cursor& cursor, int64_t chunk, Burst<count>* burst) const {
    static_assert(count % 2 == 0, "a round is whole pairs of chunks");
#pragma unroll
    for (int i = 0; i < count; ++i) {
      burst->values[i] =
          chunk + i < chunks ? __ldcs(cursor.values + (chunk + i) * 32) : make_uint4(0, 0, 0, 0);
    }
#pragma unroll
    for (int i = 0; i < count / 2 * parts; ++i) {
      const int64_t group = (chunk * kGemvChunk + i * (128 / parts)) >> group_shift;
      burst->scales[i] = group < groups
                             ? __ldg(reinterpret_cast<const uint2*>(cursor.scales + group * 16))
                             : make_uint2(0, 0);
    }
  }

  template <int count>
  __device__ static void Multiply(const Burst<count>& burst, XFragments x_at, const float* x_sums,
                                  int lane, float (&sum)[4]) {
    constexpr float kBias = std::is_same_v<T, __half> ? 1024.0F : 128.0F;
    constexpr int kHalves = 4 / parts;  // Of chunks, in a part.
    x_sums += lane % 4 * 2;
#pragma unroll
    for (int part = 0; part < count / 2 * parts; ++part) {
      Int4Scale<T> stored[2];
      memcpy(stored, &burst.scales[part], sizeof stored);
      const float2 x_sum = *reinterpret_cast<const float2*>(x_sums + part * kBurstRows);
      float products[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float zero = static_cast<float>(stored[i / 2].zero) + kBias;
        products[i] = -zero * (i % 2 == 0 ? x_sum.x : x_sum.y);
      }
#pragma unroll
      for (int i = 0; i < kHalves; ++i) {
        const int half = part * kHalves + i;
        const uint4 x = x_at(half);
        const uint4 words = burst.values[half / 2];
        uint32_t a[4];
        Unpack(half % 2 == 0 ? words.x : words.z, a);
        MultiplyTile<T>(products, a, x.x, x.y);
        Unpack(half % 2 == 0 ? words.y : words.w, a);
        MultiplyTile<T>(products, a, x.z, x.w);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        sum[i] += static_cast<float>(stored[i / 2].scale) * products[i];
      }
    }
  }

  // What a lane multiplies of 16 of k, with the bias.
  __device__ static void Unpack(uint32_t word, uint32_t (&a)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const auto pair = Int4Pair<T>(word >> (4 * i));
      memcpy(&a[i], &pair, sizeof pair);
    }
  }
#endif
};

}  // namespace assay
