// W in memory as it is: n x k, row-major, bf16 or fp16.
#pragma once

#include <cstdint>

#include "kernels/cuda/gemv_burst.cuh"
#include "kernels/cuda/gemv_kernel.cuh"

namespace assay {

// A policy of GemvKernel. Rows begin at 16-byte boundaries: k is a multiple of 8.
template <typename T>
struct DenseWeights {
  const T* data = nullptr;
  int64_t n = 0;
  int64_t k = 0;

  // Of a tile's chunk in shared memory: 64 bytes a lane.
  static constexpr int kStageBytes = 2048;
  struct Scales {};
  struct Cursor {
    const T* row[2];  // Rows g and g + 8, at the lane's k.
    bool valid[2];
  };

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  __device__ Cursor At(int64_t tile, int lane) const {
    Cursor cursor;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int64_t row = tile * kGemvTile + lane / 4 + half * 8;
      cursor.valid[half] = row < n;
      cursor.row[half] = data + (row < n ? row : 0) * k + lane % 4 * 8;
    }
    return cursor;
  }

  __device__ void Load(char* stage, const Cursor& cursor, int64_t chunk, int lane) const {
#pragma unroll
    for (int part = 0; part < 4; ++part) {
      const int64_t from = chunk * kGemvChunk + part / 2 * 32;
      const bool valid = cursor.valid[part % 2] && from + lane % 4 * 8 < k;
      CopyAsync16(stage + part * 512 + lane * 16, valid ? cursor.row[part % 2] + from : data,
                  valid);
    }
  }

  __device__ static Scales Fragments(const char* stage, int lane, uint32_t (&a)[kGemvSteps][4]) {
#pragma unroll
    for (int part = 0; part < 4; ++part) {
      const uint4 vector = *reinterpret_cast<const uint4*>(stage + part * 512 + lane * 16);
      const int step = part / 2 * 2;
      const int row = part % 2;
      a[step][row] = vector.x;
      a[step][row + 2] = vector.y;
      a[step + 1][row] = vector.z;
      a[step + 1][row + 2] = vector.w;
    }
    return {};
  }

  template <typename X>
  __device__ static void Multiply(const uint32_t (&a)[kGemvSteps][4], const uint4 (&x)[2],
                                  const Scales&, float (&sum)[4]) {
    MultiplyTile<X>(sum, a[0], x[0].x, x[0].y);
    MultiplyTile<X>(sum, a[1], x[0].z, x[0].w);
    MultiplyTile<X>(sum, a[2], x[1].x, x[1].y);
    MultiplyTile<X>(sum, a[3], x[1].z, x[1].w);
  }
#endif
};

// A policy of GemvBurstKernel for W as it is.
template <typename T>
struct DenseBurst {
  const T* data = nullptr;
  int64_t n = 0;
  int64_t k = 0;

  static constexpr int kPartsOfTwoChunks = 0;
  template <int chunks>
  struct Burst {
    uint4 vectors[chunks][4];
  };
  struct Cursor {
    const T* row[2];  // Rows g and g + 8, at the lane's k.
    bool valid[2];
    int k;  // The lane's, in half a chunk.
  };

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  __device__ Cursor At(int64_t strip, int lane) const {
    Cursor cursor;
    cursor.k = lane % 4 * 8;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int64_t row = strip * kGemvTile + lane / 4 + half * 8;
      cursor.valid[half] = row < n;
      cursor.row[half] = data + (row < n ? row : 0) * k + cursor.k;
    }
    return cursor;
  }

  template <int chunks>
  __device__ void Load(const Cursor& cursor, int64_t chunk, Burst<chunks>* burst) const {
#pragma unroll
    for (int i = 0; i < chunks; ++i) {
#pragma unroll
      for (int part = 0; part < 4; ++part) {
        const int64_t from = (chunk + i) * kGemvChunk + part / 2 * 32;
        const bool valid = cursor.valid[part % 2] && from + cursor.k < k;
        burst->vectors[i][part] =
            valid ? __ldcs(reinterpret_cast<const uint4*>(cursor.row[part % 2] + from))
                  : make_uint4(0, 0, 0, 0);
      }
    }
  }

  template <int chunks>
  __device__ static void Multiply(const Burst<chunks>& burst, XFragments x_at, const float*, int,
                                  float (&sum)[4]) {
#pragma unroll
    for (int i = 0; i < chunks; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const uint4 low = burst.vectors[i][half * 2];
        const uint4 high = burst.vectors[i][half * 2 + 1];
        const uint4 x = x_at(half);
        const uint32_t even[4] = {low.x, high.x, low.y, high.y};
        const uint32_t odd[4] = {low.z, high.z, low.w, high.w};
        MultiplyTile<T>(sum, even, x.x, x.y);
        MultiplyTile<T>(sum, odd, x.z, x.w);
      }
      x_at.at += x_at.rows * 128;
    }
  }
#endif
};

}  // namespace assay
