// Two other ways to a softmax than row_kernels.cuh's: by one lane a column, for short
// rows, and by a pass for each step of the formula.
#pragma once

#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdint>

#include "kernels/cuda/frame/exponential.cuh"
#include "kernels/cuda/rows/row_kernels.cuh"

namespace assay {

inline constexpr int kWarpSoftmaxColumns = 32;  // At most.
inline constexpr int kWarpSoftmaxThreads = 256;
// Rows of each group, all of whose loads are under way at once.
inline constexpr int kWarpSoftmaxRows = 8;

// A group of kGroup lanes a row, a column each; kGroup >= columns.
template <typename T, int kGroup>
__global__ void __launch_bounds__(kWarpSoftmaxThreads) WarpSoftmaxKernel(RowArgs<T> args) {
  constexpr int kGroups = kWarpSoftmaxThreads / kGroup;
  const int64_t first = int64_t{blockIdx.x} * kGroups * kWarpSoftmaxRows + threadIdx.x / kGroup;
  const int column = threadIdx.x % kGroup;
  float x[kWarpSoftmaxRows];
#pragma unroll
  for (int i = 0; i < kWarpSoftmaxRows; ++i) {
    const int64_t row = first + i * kGroups;
    const bool inside = row < args.rows && column < args.columns;
    x[i] = inside ? static_cast<float>(args.in[row * args.columns + column]) : -INFINITY;
  }
#pragma unroll
  for (int i = 0; i < kWarpSoftmaxRows; ++i) {
    float most = x[i];
#pragma unroll
    for (int mask = kGroup / 2; mask > 0; mask /= 2) {
      most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, mask));
    }
    const float exponential = FastExp2((x[i] - most) * kLog2E);
    float sum = exponential;
#pragma unroll
    for (int mask = kGroup / 2; mask > 0; mask /= 2) {
      sum += __shfl_xor_sync(0xffffffff, sum, mask);
    }
    const int64_t row = first + i * kGroups;
    if (row < args.rows && column < args.columns) {
      args.out[row * args.columns + column] = Narrow<T>(exponential / sum);
    }
  }
}

// The unfused passes. Each reads its operands from memory and writes its result there,
// as a framework's operators do; what lies between them is in fp32.
inline constexpr int kPassThreads = 256;
inline constexpr int kPassColumns = 4096;  // Of a row, a block.

// result[row] = the maximum or the sum of a row; a block a row.
template <bool kMaximum, typename T>
__global__ void __launch_bounds__(kPassThreads)
    ReducePassKernel(const T* in, float* result, int64_t columns) {
  const T* const row = in + blockIdx.x * columns;
  float total = kMaximum ? -INFINITY : 0;
  for (int64_t i = threadIdx.x; i < columns; i += kPassThreads) {
    const auto value = static_cast<float>(row[i]);
    total = kMaximum ? fmaxf(total, value) : total + value;
  }
  __shared__ float of_warp[kPassThreads / 32];
  for (int mask = 16; mask > 0; mask /= 2) {
    const float other = __shfl_xor_sync(0xffffffff, total, mask);
    total = kMaximum ? fmaxf(total, other) : total + other;
  }
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = total;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int warp = 1; warp < kPassThreads / 32; ++warp) {
    total = kMaximum ? fmaxf(total, of_warp[warp]) : total + of_warp[warp];
  }
  result[blockIdx.x] = total;
}

enum class Pass { kSubtract, kExponential, kDivide };

// Each element by itself, with its row's operand.
template <Pass pass, typename In, typename Out>
__global__ void __launch_bounds__(kPassThreads)
    ElementPassKernel(const In* in, const float* of_row, Out* out, int64_t columns) {
  const int64_t chunks = (columns + kPassColumns - 1) / kPassColumns;
  const int64_t row = blockIdx.x / chunks;
  const int64_t begin = blockIdx.x % chunks * kPassColumns;
  const int64_t end = min(begin + kPassColumns, columns);
  const float operand = pass == Pass::kExponential ? 0 : of_row[row];
  for (int64_t i = begin + threadIdx.x; i < end; i += kPassThreads) {
    const auto x = static_cast<float>(in[row * columns + i]);
    if constexpr (pass == Pass::kSubtract) out[row * columns + i] = Narrow<Out>(x - operand);
    if constexpr (pass == Pass::kExponential)
      out[row * columns + i] = Narrow<Out>(FastExp2(x * kLog2E));
    if constexpr (pass == Pass::kDivide) out[row * columns + i] = Narrow<Out>(x / operand);
  }
}

}  // namespace assay
