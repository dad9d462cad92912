// The `flash` variant of the attention benchmark: fp32 without tensor cores. A block of 16 x 16
// threads computes 128 rows of the output O, looping over tiles of 64 keys. The scores never leave
// the block. Each row is shared by 16 threads of one warp. Loads overlap with arithmetic: the next
// tile of K is loaded while the softmax is multiplied by V, and the next tile of V while Q is
// multiplied by K.
#include <cmath>

#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/attention/attention_tiles.cuh"
#include "kernels/cuda/frame/async_copy.cuh"
#include "kernels/cuda/frame/cuda_check.h"

namespace assay {
namespace {

constexpr int kSide = 16;
constexpr int kThreads = kSide * kSide;
constexpr int kRowsPerThread = 8;
constexpr int kKeysPerThread = 4;
constexpr int kRows = kSide * kRowsPerThread;
constexpr int kKeys = kSide * kKeysPerThread;

// The shared memory of a block. For d = 64, it takes 99 KiB, the maximum on GPUs of compute
// capability 8.6; for d = 128, it takes 163 KiB, the maximum on 8.0. Rows of Q and K are padded by
// 16 bytes, so that neighboring rows start in different banks.
template <int d>
struct Shared {
  float q[kRows][d + 4];
  float k[kKeys][d + 4];
  float v[kKeys][d];
  float p[kRows][kKeys];
};

// Copies `rows` rows of a head, from row `first` on, to shared memory; rows beyond n become zeros.
template <int d, int rows, int stride>
__device__ void LoadRows(float (*to)[stride], const float* head, int first, int n) {
  constexpr int kVectors = d / 4;
  for (int slot = threadIdx.x; slot < rows * kVectors; slot += kThreads) {
    const int row = slot / kVectors;
    const int column = slot % kVectors * 4;
    const bool valid = first + row < n;
    CopyAsync<16>(&to[row][column], head + (valid ? int64_t{first + row} * d + column : 0), valid);
  }
  CommitCopies();
}

__device__ float4 Load4(const float* from) { return *reinterpret_cast<const float4*>(from); }

__device__ float At(const float4& vector, int i) {
  return i == 0 ? vector.x : i == 1 ? vector.y : i == 2 ? vector.z : vector.w;
}

template <int d>
__device__ void MultiplyScores(const Shared<d>& shared, int x, int y,
                               float (&s)[kRowsPerThread][kKeysPerThread]) {
#pragma unroll
  for (int i = 0; i < kRowsPerThread; ++i) {
#pragma unroll
    for (int j = 0; j < kKeysPerThread; ++j) s[i][j] = 0;
  }
#pragma unroll 2
  for (int depth = 0; depth < d; depth += 4) {
    float4 q[kRowsPerThread];
    float4 k[kKeysPerThread];
#pragma unroll
    for (int i = 0; i < kRowsPerThread; ++i) q[i] = Load4(&shared.q[y + i * kSide][depth]);
#pragma unroll
    for (int j = 0; j < kKeysPerThread; ++j) k[j] = Load4(&shared.k[x + j * kSide][depth]);
#pragma unroll
    for (int e = 0; e < 4; ++e) {
#pragma unroll
      for (int i = 0; i < kRowsPerThread; ++i) {
#pragma unroll
        for (int j = 0; j < kKeysPerThread; ++j) s[i][j] += At(q[i], e) * At(k[j], e);
      }
    }
  }
}

// Returns the column at which `key` is stored in row `row` of the softmax tile in shared memory. A
// warp accesses an even and an odd row at the same time, so odd rows swap the halves of each group
// of 32 columns to avoid bank conflicts.
__device__ int Swizzled(int row, int key) { return key ^ ((row & 1) * kSide); }

template <int d>
__device__ void MultiplyValues(const Shared<d>& shared, int x, int y,
                               float (&o)[kRowsPerThread][d / kSide]) {
#pragma unroll 2
  for (int key = 0; key < kKeys; key += 4) {
    float4 p[kRowsPerThread];
#pragma unroll
    for (int i = 0; i < kRowsPerThread; ++i) {
      const int row = y + i * kSide;
      p[i] = Load4(&shared.p[row][Swizzled(row, key)]);
    }
#pragma unroll
    for (int e = 0; e < 4; ++e) {
#pragma unroll
      for (int c = 0; c < d / 64; ++c) {
        const float4 v = Load4(&shared.v[key + e][c * 64 + x * 4]);
#pragma unroll
        for (int i = 0; i < kRowsPerThread; ++i) {
#pragma unroll
          for (int f = 0; f < 4; ++f) o[i][c * 4 + f] += At(p[i], e) * At(v, f);
        }
      }
    }
  }
}

template <int d>
__global__ void __launch_bounds__(kThreads, 1)
    FlashKernel(const float* q, const float* k, const float* v, float* o, int n, bool causal,
                float scale_log2) {
  extern __shared__ float4 dynamic_shared[];
  auto& shared = *reinterpret_cast<Shared<d>*>(dynamic_shared);
  const int x = threadIdx.x % kSide;
  const int y = threadIdx.x / kSide;
  const QueryTile tile = TileOfBlock(n, kRows, causal);
  const int64_t head = tile.head * n * d;
  float sum[kRowsPerThread] = {};  // For this thread's part of the row.
  float maximum[kRowsPerThread];
  float out[kRowsPerThread][d / kSide] = {};
#pragma unroll
  for (int i = 0; i < kRowsPerThread; ++i) maximum[i] = -INFINITY;

  LoadRows<d, kRows>(shared.q, q + head, tile.first, n);
  LoadRows<d, kKeys>(shared.k, k + head, 0, n);
  LoadRows<d, kKeys>(shared.v, v + head, 0, n);
  for (int key0 = 0; key0 < tile.end_key; key0 += kKeys) {
    WaitForCopies<1>();
    __syncthreads();  // K has arrived.
    float s[kRowsPerThread][kKeysPerThread];
    MultiplyScores<d>(shared, x, y, s);
    __syncthreads();
    LoadRows<d, kKeys>(shared.k, k + head, key0 + kKeys, n);
    const bool masked = key0 + kKeys > n || (causal && key0 + kKeys > tile.first + 1);
#pragma unroll
    for (int i = 0; i < kRowsPerThread; ++i) {
      const int row = y + i * kSide;
      if (masked) {
        const int end = causal ? min(n, tile.first + row + 1) : n;
#pragma unroll
        for (int j = 0; j < kKeysPerThread; ++j) {
          if (key0 + x + j * kSide >= end) s[i][j] = -INFINITY;
        }
      }
      float largest = fmaxf(fmaxf(s[i][0], s[i][1]), fmaxf(s[i][2], s[i][3]));
      // The maximum is always finite, because the first tile contains key 0, which is never masked.
      largest = fmaxf(maximum[i], HalfWarpMax(largest));
      const float shift = largest * scale_log2;
      const float shrink = exp2f(maximum[i] * scale_log2 - shift);
      maximum[i] = largest;
      sum[i] *= shrink;
#pragma unroll
      for (int c = 0; c < d / kSide; ++c) out[i][c] *= shrink;
#pragma unroll
      for (int j = 0; j < kKeysPerThread; ++j) {
        const float p = exp2f(s[i][j] * scale_log2 - shift);
        sum[i] += p;
        shared.p[row][Swizzled(row, x + j * kSide)] = p;
      }
    }
    WaitForCopies<1>();
    __syncthreads();  // V has arrived, and P is visible to the warp.
    MultiplyValues<d>(shared, x, y, out);
    __syncthreads();
    LoadRows<d, kKeys>(shared.v, v + head, key0 + kKeys, n);
  }
#pragma unroll
  for (int i = 0; i < kRowsPerThread; ++i) {
    const float inverse = 1 / HalfWarpSum(sum[i]);
    const int row = tile.first + y + i * kSide;
    if (row >= n) continue;
#pragma unroll
    for (int c = 0; c < d / 64; ++c) {
      *reinterpret_cast<float4*>(o + head + int64_t{row} * d + c * 64 + x * 4) =
          make_float4(out[i][c * 4] * inverse, out[i][c * 4 + 1] * inverse,
                      out[i][c * 4 + 2] * inverse, out[i][c * 4 + 3] * inverse);
    }
  }
}

template <int d>
Status PrepareKernel(const GpuDevice& device) {
  if (static_cast<int64_t>(sizeof(Shared<d>)) > device.shared_bytes_per_block) {
    return Unsupported("variant flash needs " + std::to_string(sizeof(Shared<d>)) +
                       " bytes of shared memory a block for d=" + std::to_string(d) +
                       "; this GPU has " + std::to_string(device.shared_bytes_per_block));
  }
  ASSAY_CUDA(cudaFuncSetAttribute(FlashKernel<d>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(sizeof(Shared<d>))));
  return Status::Ok();
}

template <int d>
Status Enqueue(const AttentionShape& shape, const AttentionArrays& arrays, cudaStream_t stream) {
  const int64_t tiles = (shape.n + kRows - 1) / kRows;
  const auto scale_log2 = static_cast<float>(M_LOG2E / std::sqrt(static_cast<double>(d)));
  FlashKernel<d>
      <<<static_cast<unsigned>(shape.heads * tiles), kThreads, sizeof(Shared<d>), stream>>>(
          static_cast<const float*>(arrays.q), static_cast<const float*>(arrays.k),
          static_cast<const float*>(arrays.v), static_cast<float*>(arrays.o), shape.n, shape.causal,
          scale_log2);
  ASSAY_CUDA(cudaGetLastError());
  return Status::Ok();
}

}  // namespace

Status PrepareFlashAttention(const AttentionShape& shape, const GpuDevice& device) {
  return shape.d == 64 ? PrepareKernel<64>(device) : PrepareKernel<128>(device);
}

Status EnqueueFlashAttention(const AttentionShape& shape, const AttentionArrays& arrays,
                             cudaStream_t stream) {
  return shape.d == 64 ? Enqueue<64>(shape, arrays, stream) : Enqueue<128>(shape, arrays, stream);
}

}  // namespace assay
