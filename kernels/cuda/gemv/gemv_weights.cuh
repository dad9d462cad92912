// W unquantised in memory: n x k, row-major, bf16 or fp16.
#pragma once

#include <cstdint>

#include "kernels/cuda/frame/async_copy.cuh"
#include "kernels/cuda/frame/tensor_core.cuh"
#include "kernels/cuda/gemv/gemv_kernel.cuh"

namespace assay {

// A policy of GemvKernel. Rows start at 16-byte boundaries: k is a multiple of 8.
template <typename T>
struct DenseWeights {
  const T* data = nullptr;
  int64_t n = 0;
  int64_t k = 0;

  // A tile's chunk in shared memory: 64 bytes per lane.
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
      CopyAsync<16>(stage + part * 512 + lane * 16, valid ? cursor.row[part % 2] + from : data,
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

}  // namespace assay
