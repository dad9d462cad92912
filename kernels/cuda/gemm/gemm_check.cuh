// Kernels that compare a GEMM's output with fp64 arithmetic on the same inputs.
#pragma once

#include <cstdint>

#include "kernels/cuda/frame/error_sums.cuh"
#include "kernels/cuda/gemm/gemm_shape.h"
#include "kernels/cuda/gemm/gemm_values.cuh"

namespace assay {

inline constexpr uint64_t kStreamSigns = 3;

inline constexpr int kTile = 64;   // Side of a block's tile of D.
inline constexpr int kDepth = 16;  // Depth of k per step.
inline constexpr int kSide = 16;   // Threads per side; each computes kPer x kPer elements.
inline constexpr int kPer = kTile / kSide;

// Computes a tile of the reference in fp64 and compares it with D in place. The grid is tiles of
// columns x tiles of rows x batch.
template <typename A, typename B, typename D>
__global__ void __launch_bounds__(kSide* kSide)
    CompareKernel(GemmShape shape, const A* a, const B* b, const D* d, ErrorLimits limits,
                  ErrorSums* sums) {
  __shared__ double tile_a[kDepth][kTile + 1];
  __shared__ double tile_b[kDepth][kTile + 1];
  a += blockIdx.z * shape.m * shape.k;
  b += blockIdx.z * shape.k * shape.n;
  const int64_t row0 = int64_t{blockIdx.y} * kTile;
  const int64_t column0 = int64_t{blockIdx.x} * kTile;
  const int thread = threadIdx.y * kSide + threadIdx.x;
  double sum[kPer][kPer] = {};
  for (int64_t k0 = 0; k0 < shape.k; k0 += kDepth) {
    for (int slot = thread; slot < kTile * kDepth; slot += kSide * kSide) {
      // Neighbouring threads read neighbouring addresses in both storage orders.
      const int64_t row = row0 + (shape.a_transposed ? slot % kTile : slot / kDepth);
      const int64_t ka = k0 + (shape.a_transposed ? slot / kTile : slot % kDepth);
      const bool in_a = row < shape.m && ka < shape.k;
      const int64_t at_a = shape.a_transposed ? ka * shape.m + row : row * shape.k + ka;
      tile_a[ka - k0][row - row0] = in_a ? Widen(a[at_a]) : 0;
      const int64_t column = column0 + (shape.b_transposed ? slot / kDepth : slot % kTile);
      const int64_t kb = k0 + (shape.b_transposed ? slot % kDepth : slot / kTile);
      const bool in_b = column < shape.n && kb < shape.k;
      const int64_t at_b = shape.b_transposed ? column * shape.k + kb : kb * shape.n + column;
      tile_b[kb - k0][column - column0] = in_b ? Widen(b[at_b]) : 0;
    }
    __syncthreads();
    for (int step = 0; step < kDepth; ++step) {
      double left[kPer];
      double right[kPer];
#pragma unroll
      for (int i = 0; i < kPer; ++i) {
        left[i] = tile_a[step][threadIdx.y + i * kSide];
        right[i] = tile_b[step][threadIdx.x + i * kSide];
      }
#pragma unroll
      for (int i = 0; i < kPer; ++i) {
#pragma unroll
        for (int j = 0; j < kPer; ++j) sum[i][j] += left[i] * right[j];
      }
    }
    __syncthreads();
  }
  ErrorThread errors(limits, sums);
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
#pragma unroll
    for (int j = 0; j < kPer; ++j) {
      const int64_t row = row0 + threadIdx.y + i * kSide;
      const int64_t column = column0 + threadIdx.x + j * kSide;
      if (row >= shape.m || column >= shape.n) continue;
      const int64_t at = (blockIdx.z * shape.m + row) * shape.n + column;
      errors.Add(at, Widen(d[at]), sum[i][j]);
    }
  }
  errors.Flush();
}

__device__ inline double Sign(uint64_t seed, int64_t index) {
  return RandomBits(seed, kStreamSigns, static_cast<uint64_t>(index)) & 1 ? 1.0 : -1.0;
}

// Computes y = M x for a row-major `rows` x `columns` matrix whose rows are `stride` elements
// apart, one warp per row. If x is null, the random signs are used.
template <typename T>
__global__ void RowProductKernel(const T* matrix, int64_t rows, int64_t columns, int64_t stride,
                                 const double* x, uint64_t seed, double* y) {
  const int64_t row = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  if (row >= rows) return;
  double sum = 0;
  for (int64_t column = threadIdx.x % 32; column < columns; column += 32) {
    sum += Widen(matrix[row * stride + column]) * (x != nullptr ? x[column] : Sign(seed, column));
  }
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
  if (threadIdx.x % 32 == 0) y[row] = sum;
}

// Computes y += M' x for a matrix as above: one thread per column, one slice of the rows per grid
// row. If x is null, the random signs are used.
template <typename T>
__global__ void ColumnProductKernel(const T* matrix, int64_t rows, int64_t columns, int64_t stride,
                                    const double* x, uint64_t seed, double* y) {
  const int64_t column = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (column >= columns) return;
  double sum = 0;
  for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
    sum += Widen(matrix[row * stride + column]) * (x != nullptr ? x[row] : Sign(seed, row));
  }
  atomicAdd(&y[column], sum);
}

// Element i of a vector in device memory.
struct VectorElement {
  const double* data;
  __device__ double operator()(int64_t i) const { return data[i]; }
};

template <typename T>
__global__ void GatherKernel(const T* d, int64_t n, const int64_t* rows, const int64_t* columns,
                             int count, double* out) {
  out[blockIdx.x * count + threadIdx.x] = Widen(d[rows[blockIdx.x] * n + columns[threadIdx.x]]);
}

}  // namespace assay
