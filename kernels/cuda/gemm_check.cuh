// Kernels that compare a GEMM's output with fp64 arithmetic on the same inputs.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/cuda/gemm_shape.h"
#include "kernels/cuda/gemm_values.cuh"

namespace assay {

inline constexpr uint64_t kStreamSigns = 3;
inline constexpr unsigned long long kNone = std::numeric_limits<unsigned long long>::max();

// What a check on the device adds up.
struct Tally {
  double error_squared = 0;
  double reference_squared = 0;
  unsigned long long first_bad = kNone;  // Element, or row for Freivalds.
};

// Adds a block's sums to `tally`. `scratch` holds two doubles a warp.
__device__ void AddToTally(double error_squared, double reference_squared, double* scratch,
                           Tally* tally) {
  const int thread = threadIdx.y * blockDim.x + threadIdx.x;
  const int warps = (blockDim.x * blockDim.y) / 32;
  for (int offset = 16; offset > 0; offset /= 2) {
    error_squared += __shfl_down_sync(0xffffffff, error_squared, offset);
    reference_squared += __shfl_down_sync(0xffffffff, reference_squared, offset);
  }
  if (thread % 32 == 0) {
    scratch[thread / 32] = error_squared;
    scratch[warps + thread / 32] = reference_squared;
  }
  __syncthreads();
  if (thread != 0) return;
  for (int warp = 1; warp < warps; ++warp) {
    error_squared += scratch[warp];
    reference_squared += scratch[warps + warp];
  }
  atomicAdd(&tally->error_squared, error_squared);
  atomicAdd(&tally->reference_squared, reference_squared);
}

inline constexpr int kTile = 64;   // Of D, a block.
inline constexpr int kDepth = 16;  // Of k, a step.
inline constexpr int kSide = 16;   // Threads a side; each computes kPer x kPer elements.
inline constexpr int kPer = kTile / kSide;

// Computes a tile of the reference in fp64 and compares it with D in place.
template <typename T>
__global__ void __launch_bounds__(kSide* kSide)
    CompareKernel(GemmShape shape, const T* a, const T* b, const T* d, double bound, double typical,
                  Tally* tally) {
  __shared__ double tile_a[kDepth][kTile + 1];
  __shared__ double tile_b[kDepth][kTile + 1];
  const int64_t row0 = int64_t{blockIdx.y} * kTile;
  const int64_t column0 = int64_t{blockIdx.x} * kTile;
  const int thread = threadIdx.y * kSide + threadIdx.x;
  double sum[kPer][kPer] = {};
  for (int64_t k0 = 0; k0 < shape.k; k0 += kDepth) {
    for (int slot = thread; slot < kTile * kDepth; slot += kSide * kSide) {
      // Neighbouring threads read neighbouring addresses, whichever way it is stored.
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
  double error_squared = 0;
  double reference_squared = 0;
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
#pragma unroll
    for (int j = 0; j < kPer; ++j) {
      const int64_t row = row0 + threadIdx.y + i * kSide;
      const int64_t column = column0 + threadIdx.x + j * kSide;
      if (row >= shape.m || column >= shape.n) continue;
      const int64_t at = row * shape.n + column;
      const double error = fabs(Widen(d[at]) - sum[i][j]);
      // Negated, so that NaN fails.
      if (!(error <= bound * fmax(fabs(sum[i][j]), typical))) {
        atomicMin(&tally->first_bad, static_cast<unsigned long long>(at));
      }
      error_squared += error * error;
      reference_squared += sum[i][j] * sum[i][j];
    }
  }
  AddToTally(error_squared, reference_squared, &tile_a[0][0], tally);
}

__device__ double Sign(uint64_t seed, int64_t index) {
  return RandomBits(seed, kStreamSigns, static_cast<uint64_t>(index)) & 1 ? 1.0 : -1.0;
}

// y = M x for a row-major `rows` x `columns` matrix; a warp a row. x null: the signs.
// `squares`, unless null, gets each row's sum of squares.
template <typename T>
__global__ void RowProductKernel(const T* matrix, int64_t rows, int64_t columns, const double* x,
                                 uint64_t seed, double* y, double* squares) {
  const int64_t row = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  if (row >= rows) return;
  double sum = 0;
  double square = 0;
  for (int64_t column = threadIdx.x % 32; column < columns; column += 32) {
    const double value = Widen(matrix[row * columns + column]);
    sum += value * (x != nullptr ? x[column] : Sign(seed, column));
    square += value * value;
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    sum += __shfl_down_sync(0xffffffff, sum, offset);
    square += __shfl_down_sync(0xffffffff, square, offset);
  }
  if (threadIdx.x % 32 != 0) return;
  y[row] = sum;
  if (squares != nullptr) squares[row] = square;
}

// y += M' x for a row-major `rows` x `columns` matrix; a thread a column, a slice of
// the rows each grid row. x null: the signs.
template <typename T>
__global__ void ColumnProductKernel(const T* matrix, int64_t rows, int64_t columns, const double* x,
                                    uint64_t seed, double* y) {
  const int64_t column = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (column >= columns) return;
  double sum = 0;
  for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
    sum += Widen(matrix[row * columns + column]) * (x != nullptr ? x[row] : Sign(seed, row));
  }
  atomicAdd(&y[column], sum);
}

// Compares D s with A (B s), row by row. The difference of a row is a sum of its
// elements' errors with random signs: its deviation is the row's ||error||.
__global__ void CompareRowsKernel(const double* actual, const double* expected,
                                  const double* squares, int64_t rows, double tolerance,
                                  Tally* tally) {
  __shared__ double scratch[64];
  double error_squared = 0;
  double reference_squared = 0;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t row = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < rows; row += step) {
    const double error = fabs(actual[row] - expected[row]);
    if (!(error <= 6 * tolerance * sqrt(squares[row]))) {
      atomicMin(&tally->first_bad, static_cast<unsigned long long>(row));
    }
    error_squared += error * error;
    reference_squared += squares[row];
  }
  AddToTally(error_squared, reference_squared, scratch, tally);
}

template <typename T>
__global__ void GatherKernel(const T* d, int64_t n, const int64_t* rows, const int64_t* columns,
                             int count, double* out) {
  out[blockIdx.x * count + threadIdx.x] = Widen(d[rows[blockIdx.x] * n + columns[threadIdx.x]]);
}

}  // namespace assay
