// Computes the reference for the attention benchmark on the device, as a tiled online softmax in
// fp64. Apart from reductions across a warp, it shares no code with the kernels under test.
#include <cmath>

#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/attention/attention_tiles.cuh"
#include "kernels/cuda/frame/element.cuh"

namespace assay {
namespace {

constexpr int kSide = 16;  // Threads per side.
constexpr int kPer = 4;    // Rows, and keys, per thread.
constexpr int kTile = kSide * kPer;
constexpr int kDepth = 16;  // Depth per step: of d in Q K', of the keys in P V.

struct Shared {
  union {
    struct {
      double q[kTile][kDepth + 1];
      double k[kTile][kDepth + 1];
    };
    double v[kDepth][128];
  };
  double p[kTile][kTile + 1];
};

template <typename T>
__device__ double ElementOr0(const T* head, int row, int column, int n, int d) {
  return row < n ? Widen(head[int64_t{row} * d + column]) : 0;
}

// Computes the part of a tile of S that belongs to this thread: rows y + 16 i and keys x + 16 j.
template <typename T>
__device__ void Scores(const T* q, const T* k, int row0, int key0, int n, int d, Shared* shared,
                       double (&s)[kPer][kPer]) {
  const int x = threadIdx.x % kSide;
  const int y = threadIdx.x / kSide;
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
#pragma unroll
    for (int j = 0; j < kPer; ++j) s[i][j] = 0;
  }
  for (int depth = 0; depth < d; depth += kDepth) {
    __syncthreads();  // All threads have read the union.
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
      const int row = y + i * kSide;
      shared->q[row][x] = ElementOr0(q, row0 + row, depth + x, n, d);
      shared->k[row][x] = ElementOr0(k, key0 + row, depth + x, n, d);
    }
    __syncthreads();
#pragma unroll
    for (int e = 0; e < kDepth; ++e) {
#pragma unroll
      for (int i = 0; i < kPer; ++i) {
        const double left = shared->q[y + i * kSide][e];
#pragma unroll
        for (int j = 0; j < kPer; ++j) s[i][j] += left * shared->k[x + j * kSide][e];
      }
    }
  }
}

// Computes O += P V; the thread's columns are x + 16 c.
template <typename T, int d>
__device__ void WeightedSum(const T* v, int key0, int n, Shared* shared,
                            double (&o)[kPer][d / kSide]) {
  const int x = threadIdx.x % kSide;
  const int y = threadIdx.x / kSide;
  for (int step = 0; step < kTile; step += kDepth) {
    __syncthreads();
    for (int c = x; c < d; c += kSide) {
      shared->v[y][c] = ElementOr0(v, key0 + step + y, c, n, d);
    }
    __syncthreads();
#pragma unroll
    for (int e = 0; e < kDepth; ++e) {
      double p[kPer];
#pragma unroll
      for (int i = 0; i < kPer; ++i) p[i] = shared->p[y + i * kSide][step + e];
#pragma unroll
      for (int c = 0; c < d / kSide; ++c) {
        const double value = shared->v[e][x + c * kSide];
#pragma unroll
        for (int i = 0; i < kPer; ++i) o[i][c] += p[i] * value;
      }
    }
  }
}

template <typename T, int d>
__global__ void __launch_bounds__(kSide* kSide)
    CheckKernel(const T* q, const T* k, const T* v, const T* o, int n, bool causal, double scale,
                ErrorLimits limits, ErrorSums* sums) {
  extern __shared__ double dynamic_shared[];
  Shared* shared = reinterpret_cast<Shared*>(dynamic_shared);
  const int x = threadIdx.x % kSide;
  const int y = threadIdx.x / kSide;
  const unsigned tiles = (n + kTile - 1) / kTile;
  const int64_t head = int64_t{blockIdx.x / tiles} * n * d;
  const int row0 = static_cast<int>(tiles - 1 - blockIdx.x % tiles) * kTile;
  double maximum[kPer];
  double sum[kPer] = {};
  double reference[kPer][d / kSide] = {};
#pragma unroll
  for (int i = 0; i < kPer; ++i) maximum[i] = -INFINITY;
  const int end = causal ? min(n, row0 + kTile) : n;
  for (int key0 = 0; key0 < end; key0 += kTile) {
    double s[kPer][kPer];
    Scores(q + head, k + head, row0, key0, n, d, shared, s);
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
      const int row = row0 + y + i * kSide;
      double largest = maximum[i];
#pragma unroll
      for (int j = 0; j < kPer; ++j) {
        const int key = key0 + x + j * kSide;
        s[i][j] = key < n && !(causal && key > row) ? s[i][j] * scale : -INFINITY;
        largest = fmax(largest, s[i][j]);
      }
      largest = HalfWarpMax(largest);
      const double shrink = exp(maximum[i] - largest);
      maximum[i] = largest;
      sum[i] *= shrink;
#pragma unroll
      for (int c = 0; c < d / kSide; ++c) reference[i][c] *= shrink;
#pragma unroll
      for (int j = 0; j < kPer; ++j) {
        const double p = exp(s[i][j] - largest);
        sum[i] += p;
        shared->p[y + i * kSide][x + j * kSide] = p;
      }
    }
    WeightedSum<T, d>(v + head, key0, n, shared, reference);
  }
  ErrorThread thread(limits, sums);
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
    const double inverse = 1 / HalfWarpSum(sum[i]);
    const int row = row0 + y + i * kSide;
    if (row >= n) continue;
    // Elements of O are means over the row's keys, so they are smaller in rows with more keys.
    // Divide errors by the typical size of the row's elements, sqrt(e / keys) for normally
    // distributed scores, so that all rows carry equal weight.
    const double size = fmin(1.0, sqrt(M_E / (causal ? row + 1 : n)));
#pragma unroll
    for (int c = 0; c < d / kSide; ++c) {
      const int64_t at = head + int64_t{row} * d + x + c * kSide;
      thread.Add(at, Widen(o[at]) / size, reference[i][c] * inverse / size);
    }
  }
  __syncwarp();
  thread.Flush();
}

template <typename T, int d>
Status Launch(const AttentionShape& shape, const AttentionArrays& arrays, const ErrorLimits& limits,
              ErrorSums* sums, cudaStream_t stream) {
  ASSAY_CUDA(cudaFuncSetAttribute(CheckKernel<T, d>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(sizeof(Shared))));
  const auto blocks = static_cast<unsigned>(shape.heads * ((shape.n + kTile - 1) / kTile));
  CheckKernel<T, d><<<blocks, kSide * kSide, sizeof(Shared), stream>>>(
      static_cast<const T*>(arrays.q), static_cast<const T*>(arrays.k),
      static_cast<const T*>(arrays.v), static_cast<const T*>(arrays.o), shape.n, shape.causal,
      1 / std::sqrt(static_cast<double>(d)), limits, sums);
  ASSAY_CUDA(cudaGetLastError());
  return Status::Ok();
}

}  // namespace

Result<Verdict> CheckAttention(const AttentionShape& shape, const AttentionArrays& arrays,
                               const ErrorLimits& limits, cudaStream_t stream) {
  ASSAY_ASSIGN_OR_RETURN(const ErrorAccumulator sums, ErrorAccumulator::Create(stream));
  ASSAY_RETURN_IF_ERROR(WithElementType(shape.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return shape.d == 64 ? Launch<T, 64>(shape, arrays, limits, sums.device(), stream)
                         : Launch<T, 128>(shape, arrays, limits, sums.device(), stream);
  }));
  return sums.Read(shape.Elements(), limits, "fp64 on device, every element", stream);
}

}  // namespace assay
