// Variant `naive` of attention: three kernels with S in device memory between them.
#include <cmath>

#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/frame/element.cuh"

namespace assay {
namespace {

constexpr int kTile = 32;  // Side of the blocks' tiles.
constexpr int kSoftmaxThreads = 256;

// The origin of a block's tile in an output of heads x rows x columns.
struct TileOrigin {
  int64_t head;
  int row;
  int column;
};

__device__ TileOrigin OriginOf(int rows, int columns) {
  const int across = (columns + kTile - 1) / kTile;
  const int down = (rows + kTile - 1) / kTile;
  const unsigned tile = blockIdx.x;
  return {tile / across / down, static_cast<int>(tile / across % down) * kTile,
          static_cast<int>(tile % across) * kTile};
}

// Computes S = scale Q K'.
template <typename T>
__global__ void __launch_bounds__(kTile* kTile)
    ScoresKernel(const T* q, const T* k, float* scores, int n, int d, float scale) {
  __shared__ float tile_q[kTile][kTile + 1];
  __shared__ float tile_k[kTile][kTile + 1];
  const TileOrigin origin = OriginOf(n, n);
  const int x = threadIdx.x;
  const int y = threadIdx.y;
  const T* head_q = q + origin.head * n * d;
  const T* head_k = k + origin.head * n * d;
  const int row = origin.row + y;
  const int column = origin.column + x;
  const int key = origin.column + y;  // The row of K that this thread loads.
  float sum = 0;
  for (int depth = 0; depth < d; depth += kTile) {
    const int at = depth + x;
    tile_q[y][x] = row < n ? static_cast<float>(head_q[int64_t{row} * d + at]) : 0.0F;
    tile_k[y][x] = key < n ? static_cast<float>(head_k[int64_t{key} * d + at]) : 0.0F;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kTile; ++i) sum += tile_q[y][i] * tile_k[x][i];
    __syncthreads();
  }
  if (row < n && column < n) scores[(origin.head * n + row) * n + column] = sum * scale;
}

__device__ float BlockReduce(float value, bool maximum, float* scratch) {
  for (int offset = 16; offset > 0; offset /= 2) {
    const float other = __shfl_xor_sync(0xffffffff, value, offset);
    value = maximum ? fmaxf(value, other) : value + other;
  }
  __syncthreads();  // All threads have read the scratch memory of the previous reduction.
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  value = scratch[0];
  for (int warp = 1; warp < kSoftmaxThreads / 32; ++warp) {
    value = maximum ? fmaxf(value, scratch[warp]) : value + scratch[warp];
  }
  return value;
}

// Replaces each row of the scores S with its softmax, using one block per row. If `causal`, row i
// uses only columns 0 to i, and its other elements become zero.
__global__ void __launch_bounds__(kSoftmaxThreads)
    SoftmaxRowsKernel(float* scores, int n, bool causal) {
  __shared__ float scratch[kSoftmaxThreads / 32];
  float* row = scores + int64_t{blockIdx.x} * n;
  const int visible = causal ? static_cast<int>(blockIdx.x % n) + 1 : n;
  float maximum = -INFINITY;
  for (int i = threadIdx.x; i < visible; i += kSoftmaxThreads) maximum = fmaxf(maximum, row[i]);
  maximum = BlockReduce(maximum, true, scratch);
  float sum = 0;
  for (int i = threadIdx.x; i < visible; i += kSoftmaxThreads) sum += expf(row[i] - maximum);
  sum = BlockReduce(sum, false, scratch);
  for (int i = threadIdx.x; i < n; i += kSoftmaxThreads) {
    row[i] = i < visible ? expf(row[i] - maximum) / sum : 0.0F;
  }
}

// Computes O = P V.
template <typename T>
__global__ void __launch_bounds__(kTile* kTile)
    WeightedSumKernel(const float* weights, const T* v, T* o, int n, int d) {
  __shared__ float tile_p[kTile][kTile + 1];
  __shared__ float tile_v[kTile][kTile + 1];
  const TileOrigin origin = OriginOf(n, d);
  const int x = threadIdx.x;
  const int y = threadIdx.y;
  const int row = origin.row + y;
  const int column = origin.column + x;
  const float* row_p = weights + (origin.head * n + row) * n;
  const T* head_v = v + origin.head * n * d;
  float sum = 0;
  for (int first = 0; first < n; first += kTile) {
    tile_p[y][x] = row < n && first + x < n ? row_p[first + x] : 0.0F;
    tile_v[y][x] =
        first + y < n ? static_cast<float>(head_v[int64_t{first + y} * d + column]) : 0.0F;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kTile; ++i) sum += tile_p[y][i] * tile_v[i][x];
    __syncthreads();
  }
  if (row < n) o[(origin.head * n + row) * d + column] = Narrow<T>(sum);
}

template <typename T>
Status Enqueue(const AttentionShape& shape, const AttentionArrays& arrays, float* scores,
               cudaStream_t stream) {
  // If S fits in memory, the number of blocks fits in 32 bits.
  const int64_t down = (shape.n + kTile - 1) / kTile;
  const auto score_tiles = static_cast<unsigned>(shape.heads * down * down);
  const auto output_tiles = static_cast<unsigned>(shape.heads * down * (shape.d / kTile));
  const dim3 threads(kTile, kTile);
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(shape.d)));
  ScoresKernel<<<score_tiles, threads, 0, stream>>>(static_cast<const T*>(arrays.q),
                                                    static_cast<const T*>(arrays.k), scores,
                                                    shape.n, shape.d, scale);
  ASSAY_CUDA(cudaGetLastError());
  SoftmaxRowsKernel<<<static_cast<unsigned>(shape.heads * shape.n), kSoftmaxThreads, 0, stream>>>(
      scores, shape.n, shape.causal);
  ASSAY_CUDA(cudaGetLastError());
  WeightedSumKernel<<<output_tiles, threads, 0, stream>>>(
      scores, static_cast<const T*>(arrays.v), static_cast<T*>(arrays.o), shape.n, shape.d);
  ASSAY_CUDA(cudaGetLastError());
  return Status::Ok();
}

}  // namespace

Status EnqueueNaiveAttention(const AttentionShape& shape, const AttentionArrays& arrays,
                             float* scores, cudaStream_t stream) {
  return WithElementType(shape.dtype, [&](auto tag) {
    return Enqueue<typename decltype(tag)::Type>(shape, arrays, scores, stream);
  });
}

}  // namespace assay
