// The `flash_mma` variant of the attention benchmark: bf16 and fp16 on tensor cores (mma.sync
// m16n8k16). A block of four warps computes 128 rows of the output O. Each warp computes two tiles
// of 16 rows, so that it can use each fragment of K and V twice; otherwise, reading fragments from
// shared memory would be the bottleneck. Loads overlap with arithmetic: V is loaded while scores
// are computed, and the next tile of K while the softmax is multiplied by V.
#include <cmath>

#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/attention/attention_tiles.cuh"
#include "kernels/cuda/frame/async_copy.cuh"
#include "kernels/cuda/frame/element.cuh"
#include "kernels/cuda/frame/exponential.cuh"
#include "kernels/cuda/frame/tensor_core.cuh"

namespace assay {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = 32 * kWarps;
constexpr int kTilesPerWarp = 2;  // Tiles have 16 rows.
constexpr int kRows = kWarps * kTilesPerWarp * 16;
constexpr int kKeys = 64;
constexpr int kKeyTiles = kKeys / 8;

template <typename T, int d>
struct Shared {
  T q[kRows * d];  // Holds O at the end.
  T k[kKeys * d];
  T v[kKeys * d];
};

// Returns where chunk `chunk` (eight elements) of row `row` is stored within a tile in shared
// memory. The chunks of each row are permuted ("swizzled") so that a warp can read the same chunk
// of eight neighboring rows without bank conflicts.
template <int d>
__device__ int Swizzled(int row, int chunk) {
  return row * d + ((chunk ^ (row & 7)) * 8);
}

// Copies `rows` rows of a head's n x d matrix, starting at row `first`, to a swizzled tile in
// shared memory. Rows beyond n are filled with zeros. Each thread copies one chunk of every
// kStep-th row. Since kStep is a multiple of 8, all chunks of a thread have the same swizzle.
template <typename T, int d, int rows>
__device__ void LoadRows(T* to, const T* head, int first, int n) {
  constexpr int kChunks = d / 8;
  constexpr int kStep = kThreads / kChunks;
  static_assert(kStep % 8 == 0 && rows % kStep == 0);
  const int row = static_cast<int>(threadIdx.x) / kChunks;
  const int chunk = static_cast<int>(threadIdx.x) % kChunks;
  T* shared = to + Swizzled<d>(row, chunk);
  const T* global = head + int64_t{first + row} * d + chunk * 8;
#pragma unroll
  for (int i = 0; i < rows; i += kStep) {
    const bool valid = first + row + i < n;
    CopyAsync<16>(shared + i * d, valid ? global + i * d : head, valid);
  }
  CommitCopies();
}

__device__ uint32_t SharedAddress(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// Returns the thread's lane number, but hides from the optimizer that every call returns the same
// value. Otherwise, the compiler would keep addresses derived from the lane number in registers
// throughout the loop over keys and spill other values.
__device__ int ForgottenLane() {
  int lane = threadIdx.x % 32;
  asm volatile("" : "+r"(lane));
  return lane;
}

// Computes S = Q K' for the warp's rows.
template <typename T, int d>
__device__ void MultiplyScores(const Shared<T, d>& shared, int row0,
                               float (&s)[kTilesPerWarp][kKeyTiles][4]) {
  const int lane = ForgottenLane();
#pragma unroll
  for (int m = 0; m < kTilesPerWarp; ++m) {
#pragma unroll
    for (int j = 0; j < kKeyTiles; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) s[m][j][e] = 0;
    }
  }
#pragma unroll
  for (int step = 0; step < d / 16; ++step) {
    uint32_t a[kTilesPerWarp][4];
#pragma unroll
    for (int m = 0; m < kTilesPerWarp; ++m) {
      LoadMatrices(SharedAddress(shared.q + (row0 + m * 16) * d +
                                 Swizzled<d>(lane % 16, step * 2 + lane / 16)),
                   a[m]);
    }
#pragma unroll
    for (int j = 0; j < kKeyTiles; j += 2) {
      uint32_t b[4];
      LoadMatrices(
          SharedAddress(shared.k + j * 8 * d + Swizzled<d>(lane % 16, step * 2 + lane / 16)), b);
#pragma unroll
      for (int m = 0; m < kTilesPerWarp; ++m) {
        MultiplyTile<T>(s[m][j], a[m], b[0], b[2]);
        MultiplyTile<T>(s[m][j + 1], a[m], b[1], b[3]);
      }
    }
  }
}

// Computes O += P V for the warp's rows.
template <typename T, int d>
__device__ void MultiplyValues(const Shared<T, d>& shared,
                               const float (&p)[kTilesPerWarp][kKeyTiles][4],
                               float (&o)[kTilesPerWarp][d / 8][4]) {
  const int lane = ForgottenLane();
#pragma unroll
  for (int step = 0; step < kKeys / 16; ++step) {
    uint32_t a[kTilesPerWarp][4];
#pragma unroll
    for (int m = 0; m < kTilesPerWarp; ++m) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float(&from)[4] = p[m][step * 2 + e / 2];
        a[m][e] = Pack(from[e % 2 * 2], from[e % 2 * 2 + 1], T());
      }
    }
#pragma unroll
    for (int j = 0; j < d / 8; j += 2) {
      uint32_t b[4];
      LoadMatricesTransposed(
          SharedAddress(shared.v + step * 16 * d + Swizzled<d>(lane % 16, j + lane / 16)), b);
#pragma unroll
      for (int m = 0; m < kTilesPerWarp; ++m) {
        MultiplyTile<T>(o[m][j], a[m], b[0], b[1]);
        MultiplyTile<T>(o[m][j + 1], a[m], b[2], b[3]);
      }
    }
  }
}

// Return the maximum and the sum over the four lanes that share a row.
__device__ float RowMax(float value) {
  value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, 1));
  return fmaxf(value, __shfl_xor_sync(0xffffffff, value, 2));
}

__device__ float RowSum(float value) {
  value += __shfl_xor_sync(0xffffffff, value, 1);
  return value + __shfl_xor_sync(0xffffffff, value, 2);
}

// A thread's softmax state of its 4 rows: row h of tile m is row m * 16 + lane / 4 + h * 8.
struct RowState {
  float maximum[kTilesPerWarp][2];
  float sum[kTilesPerWarp][2];
};

// Sets S to -infinity beyond the keys that each row sees.
__device__ void Mask(int key0, int row0, int n, bool causal,
                     float (&s)[kTilesPerWarp][kKeyTiles][4]) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int m = 0; m < kTilesPerWarp; ++m) {
#pragma unroll
    for (int j = 0; j < kKeyTiles; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int row = row0 + m * 16 + lane / 4 + e / 2 * 8;
        const int key = key0 + j * 8 + lane % 4 * 2 + e % 2;
        if (key >= n || (causal && key > row)) s[m][j][e] = -INFINITY;
      }
    }
  }
}

// Replaces the scores S by their exponentials P, and rescales O and sums to the new maximum.
template <int tiles>
__device__ void Softmax(float scale_log2, float (&s)[kTilesPerWarp][kKeyTiles][4], RowState* rows,
                        float (&o)[kTilesPerWarp][tiles][4]) {
#pragma unroll
  for (int m = 0; m < kTilesPerWarp; ++m) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      // The maximum is always finite, because the first tile contains key 0, which is never masked.
      float largest = rows->maximum[m][h];
#pragma unroll
      for (int j = 0; j < kKeyTiles; ++j) {
        largest = fmaxf(largest, fmaxf(s[m][j][h * 2], s[m][j][h * 2 + 1]));
      }
      largest = RowMax(largest);
      const float shift = largest * scale_log2;
      const float shrink = FastExp2(rows->maximum[m][h] * scale_log2 - shift);
      rows->maximum[m][h] = largest;
      float sum = rows->sum[m][h] * shrink;
#pragma unroll
      for (int j = 0; j < kKeyTiles; ++j) {
#pragma unroll
        for (int e = h * 2; e < h * 2 + 2; ++e) {
          s[m][j][e] = FastExp2(s[m][j][e] * scale_log2 - shift);
          sum += s[m][j][e];
        }
      }
      rows->sum[m][h] = sum;
#pragma unroll
      for (int j = 0; j < tiles; ++j) {
        o[m][j][h * 2] *= shrink;
        o[m][j][h * 2 + 1] *= shrink;
      }
    }
  }
}

// Writes O / sum as whole rows, through the warp's own rows of Q in shared memory.
template <typename T, int d>
__device__ void StoreRows(const RowState& rows, const float (&o)[kTilesPerWarp][d / 8][4], T* q,
                          int row0, T* out, int first, int n) {
  const int lane = threadIdx.x % 32;
  __syncwarp();
#pragma unroll
  for (int m = 0; m < kTilesPerWarp; ++m) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float inverse = 1 / RowSum(rows.sum[m][h]);
      const int row = row0 + m * 16 + lane / 4 + h * 8;
#pragma unroll
      for (int j = 0; j < d / 8; ++j) {
        *reinterpret_cast<uint32_t*>(q + Swizzled<d>(row, j) + lane % 4 * 2) =
            Pack(o[m][j][h * 2] * inverse, o[m][j][h * 2 + 1] * inverse, T());
      }
    }
  }
  __syncwarp();
  constexpr int kChunks = d / 8;
#pragma unroll
  for (int slot = lane; slot < kTilesPerWarp * 16 * kChunks; slot += 32) {
    const int row = row0 + slot / kChunks;
    const int chunk = slot % kChunks;
    if (first + row >= n) continue;
    *reinterpret_cast<uint4*>(out + int64_t{first + row} * d + chunk * 8) =
        *reinterpret_cast<const uint4*>(q + Swizzled<d>(row, chunk));
  }
}

template <typename T, int d>
__global__ void __launch_bounds__(kThreads, 2)
    MmaKernel(const T* q, const T* k, const T* v, T* o, int n, bool causal, float scale_log2) {
  extern __shared__ uint4 dynamic_shared[];
  auto& shared = *reinterpret_cast<Shared<T, d>*>(dynamic_shared);
  const QueryTile tile = TileOfBlock(n, kRows, causal);
  const int64_t head = tile.head * n * d;
  const int row0 = static_cast<int>(threadIdx.x) / 32 * kTilesPerWarp * 16;  // Row within the tile.
  float out[kTilesPerWarp][d / 8][4] = {};
  RowState rows = {{{-INFINITY, -INFINITY}, {-INFINITY, -INFINITY}}, {}};

  LoadRows<T, d, kRows>(shared.q, q + head, tile.first, n);
  LoadRows<T, d, kKeys>(shared.k, k + head, 0, n);
  for (int key0 = 0; key0 < tile.end_key; key0 += kKeys) {
    WaitForCopies<0>();
    __syncthreads();  // K has arrived, and all warps have finished with V.
    LoadRows<T, d, kKeys>(shared.v, v + head, key0, n);
    float s[kTilesPerWarp][kKeyTiles][4];
    MultiplyScores<T, d>(shared, row0, s);
    if (key0 + kKeys > n || (causal && key0 + kKeys > tile.first + row0 + 1)) {
      Mask(key0, tile.first + row0, n, causal, s);
    }
    Softmax(scale_log2, s, &rows, out);
    WaitForCopies<0>();
    __syncthreads();  // V has arrived, and all warps have finished with K.
    if (key0 + kKeys < tile.end_key) LoadRows<T, d, kKeys>(shared.k, k + head, key0 + kKeys, n);
    MultiplyValues<T, d>(shared, s, out);
  }
  StoreRows<T, d>(rows, out, shared.q, row0, o + head, tile.first, n);
}

template <typename T, int d>
Status PrepareKernel(const GpuDevice& device) {
  if (static_cast<int64_t>(sizeof(Shared<T, d>)) > device.shared_bytes_per_block) {
    return Unsupported("variant flash_mma needs " + std::to_string(sizeof(Shared<T, d>)) +
                       " bytes of shared memory a block; this GPU has " +
                       std::to_string(device.shared_bytes_per_block));
  }
  ASSAY_CUDA(cudaFuncSetAttribute(MmaKernel<T, d>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(sizeof(Shared<T, d>))));
  return Status::Ok();
}

template <typename T, int d>
Status Enqueue(const AttentionShape& shape, const AttentionArrays& arrays, cudaStream_t stream) {
  const int64_t tiles = (shape.n + kRows - 1) / kRows;
  const auto scale_log2 = static_cast<float>(M_LOG2E / std::sqrt(static_cast<double>(d)));
  MmaKernel<T, d>
      <<<static_cast<unsigned>(shape.heads * tiles), kThreads, sizeof(Shared<T, d>), stream>>>(
          static_cast<const T*>(arrays.q), static_cast<const T*>(arrays.k),
          static_cast<const T*>(arrays.v), static_cast<T*>(arrays.o), shape.n, shape.causal,
          scale_log2);
  ASSAY_CUDA(cudaGetLastError());
  return Status::Ok();
}

}  // namespace

Status PrepareMmaAttention(const AttentionShape& shape, const GpuDevice& device) {
  ASSAY_RETURN_IF_ERROR(NeedCapability(device, 8, 0, "variant flash_mma"));
  if (shape.dtype == "bf16") {
    return shape.d == 64 ? PrepareKernel<__nv_bfloat16, 64>(device)
                         : PrepareKernel<__nv_bfloat16, 128>(device);
  }
  return shape.d == 64 ? PrepareKernel<__half, 64>(device) : PrepareKernel<__half, 128>(device);
}

Status EnqueueMmaAttention(const AttentionShape& shape, const AttentionArrays& arrays,
                           cudaStream_t stream) {
  if (shape.dtype == "bf16") {
    return shape.d == 64 ? Enqueue<__nv_bfloat16, 64>(shape, arrays, stream)
                         : Enqueue<__nv_bfloat16, 128>(shape, arrays, stream);
  }
  return shape.d == 64 ? Enqueue<__half, 64>(shape, arrays, stream)
                       : Enqueue<__half, 128>(shape, arrays, stream);
}

}  // namespace assay
