// y = x W' for up to 8 rows of x. A block takes a strip of 16 rows of W, each of its warps
// a share of k, and every lane loads all that it will multiply before it begins: many
// small blocks keep an H200's memory busier than a ring of copies in fewer, larger ones.
#pragma once

#include <cstdint>

#include "kernels/cuda/gemv_kernel.cuh"

namespace assay {

inline constexpr int kBurstRows = 8;

// Where the parts of a block's shared memory begin, in bytes. A round is `chunks` chunks.
template <typename Weights, int chunks, int warps>
struct GemvBurstLayout {
  int rows = 0;  // Of x.

  // A warp's part of x in a round, as [chunk][half of it][row][32 of k].
  __host__ __device__ int XBytes() const { return chunks * rows * 128; }
  // Its sums over what shares a scale: [part][8 rows].
  __host__ __device__ int XSumBytes() const {
    return chunks * Weights::kPartsOfTwoChunks / 2 * kBurstRows * 4;
  }
  __host__ __device__ int WarpBytes() const { return XBytes() + XSumBytes(); }
  // Floats of a warp's sums; odd, so that warps begin on different banks.
  __host__ __device__ int SumPitch() const { return rows * kGemvTile + 1; }
  __host__ __device__ int Bytes() const { return warps * (WarpBytes() + SumPitch() * 4); }
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

// A lane's part of x in a chunk; zeros for rows of x that do not exist.
struct XFragments {
  const char* at;
  int rows;
  bool valid;

  __device__ uint4 operator()(int half) const {
    return valid ? *reinterpret_cast<const uint4*>(at + half * rows * 64) : make_uint4(0, 0, 0, 0);
  }
};

// The sum of 8 values.
template <typename T>
__device__ float SumOf(const uint4& vector) {
  T values[8];
  memcpy(values, &vector, sizeof values);
  float sum = 0;
#pragma unroll
  for (const T value : values) sum += static_cast<float>(value);
  return sum;
}

// Brings a warp's part of x for a round into its shared memory, with its sums.
template <typename Weights, int chunks, typename T>
__device__ void LoadRoundX(char* x, float* x_sums, const GemvArguments<T>& arguments,
                           int64_t chunk0, int lane) {
  const int rows = static_cast<int>(arguments.m);
  for (int row = 0; row < rows; ++row) {
#pragma unroll
    for (int part = 0; part < (chunks * 8 + 31) / 32; ++part) {
      const int vector = part * 32 + lane;  // Of 8 values, in the round's part of the row.
      const bool inside = vector < chunks * 8;
      const uint4 values =
          inside ? LoadX(arguments, row, (chunk0 * 8 + vector) * 8) : make_uint4(0, 0, 0, 0);
      if (inside) {
        *reinterpret_cast<uint4*>(x + (vector / 4 * rows + row) * 64 + vector % 4 * 16) = values;
      }
      if constexpr (Weights::kPartsOfTwoChunks > 0) {
        constexpr int kLanes = 16 / Weights::kPartsOfTwoChunks;
        float sum = SumOf<T>(values);
#pragma unroll
        for (int offset = kLanes / 2; offset > 0; offset /= 2) {
          sum += __shfl_down_sync(0xffffffff, sum, offset);
        }
        if (inside && lane % kLanes == 0) x_sums[vector / kLanes * kBurstRows + row] = sum;
      }
    }
  }
}

// Adds the warps' sums of a strip, a warp an output, and writes them.
template <int warps, typename T>
__device__ void StoreStrip(const float* sums, int pitch, const GemvArguments<T>& arguments,
                           int64_t strip) {
  const int lane = threadIdx.x % 32;
  const int outputs = static_cast<int>(arguments.m) * kGemvTile;
  for (int output = threadIdx.x / 32; output < outputs; output += warps) {
    float total = lane < warps ? sums[lane * pitch + output] : 0.0F;
    for (int offset = 16; offset > 0; offset /= 2) {
      total += __shfl_xor_sync(0xffffffff, total, offset);
    }
    const int64_t column = strip * kGemvTile + output % kGemvTile;
    if (lane == 0 && column < arguments.n) {
      arguments.y[output / kGemvTile * arguments.n + column] = Narrow<T>(total);
    }
  }
}

#endif

// Grid: a block a strip. 64 registers a thread, so that 1024 threads are resident.
template <typename Weights, int chunks, int warps, typename T>
__global__ void __launch_bounds__(32 * warps, 32 / warps)
    GemvBurstKernel(Weights weights, GemvArguments<T> arguments) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) char shared[];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int rows = static_cast<int>(arguments.m);
  const GemvBurstLayout<Weights, chunks, warps> layout{rows};
  char* const x = shared + warp * layout.WarpBytes();
  auto* const x_sums = reinterpret_cast<float*>(x + layout.XBytes());
  auto* const sums = reinterpret_cast<float*>(shared + warps * layout.WarpBytes());
  const XFragments fragments{x + lane / 4 * 64 + lane % 4 * 16, rows, lane / 4 < rows};
  const auto cursor = weights.At(blockIdx.x, lane);
  float sum[4] = {};
  AllowNext();
  bool waited = false;
  for (int64_t chunk = int64_t{warp} * chunks; chunk < arguments.chunks;
       chunk += int64_t{warps} * chunks) {
    typename Weights::template Burst<chunks> burst;
    weights.Load(cursor, chunk, &burst);
    if (!waited) WaitForPrevious();
    waited = true;
    __syncwarp();  // All lanes have done with the last round's x.
    LoadRoundX<Weights, chunks>(x, x_sums, arguments, chunk, lane);
    __syncwarp();
    Weights::Multiply(burst, fragments, x_sums, lane, sum);
  }
  if (!waited) WaitForPrevious();
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = lane % 4 * 2 + i % 2;
    if (row < rows) {
      sums[warp * layout.SumPitch() + row * kGemvTile + lane / 4 + i / 2 * 8] = sum[i];
    }
  }
  __syncthreads();
  StoreStrip<warps>(sums, layout.SumPitch(), arguments, blockIdx.x);
#endif
}

}  // namespace assay
