// Computes y = x W' for a few rows of x on tensor cores, using mma.sync. Each block reads one strip
// of rows of W (columns of y) exactly once. The policy class Weights hides whether W is 16-bit or
// packed 4-bit. In each instruction, W is the operand with 16 rows and x is the one with 8 columns.
// So that one 16-byte load serves two instructions, both operands use a special order of k: within
// half a chunk of 64 elements, lane t of each group of four multiplies the 8 elements starting at 8
// t.
#pragma once

#include <cstdint>

#include "kernels/cuda/frame/async_copy.cuh"
#include "kernels/cuda/frame/dependent_launch.cuh"
#include "kernels/cuda/frame/element.cuh"
#include "kernels/cuda/frame/tensor_core.cuh"

namespace assay {

inline constexpr int kGemvChunk = 64;  // Size along k.
inline constexpr int kGemvTile = 16;   // Rows of W.
inline constexpr int kGemvRows = 8;    // Rows of x per tensor-core instruction.
inline constexpr int kGemvSteps = 4;   // Tensor-core instructions along k per chunk.

// The arguments of GemvKernel: sizes and device pointers. x is m x k and y is m x n, both
// row-major. Rows of x must start at 16-byte boundaries.
template <typename T>
struct GemvArguments {
  const T* x = nullptr;
  T* y = nullptr;
  // The workspace, needed only if k is split among several blocks. `partial` holds the sums of each
  // split, and `arrived` counts, per tile of y, the blocks that have finished. The counters must be
  // zero before the first launch; each launch resets them to zero.
  float* partial = nullptr;
  unsigned* arrived = nullptr;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t chunks = 0;  // Chunks of the whole k.
};

// Compile-time sizes of GemvKernel. A block has kAcross x kDeep warps, and each warp processes
// kTiles tiles of W's rows. The kDeep warps that share the same tiles split k among themselves:
// each takes every kDeep-th chunk of 64 elements. If x_shared is true, which suits many rows of x,
// the block copies x to shared memory. Otherwise, lanes load x directly.
template <int row_tiles, int tiles, int across, int deep, int stages, bool x_shared>
struct GemvShape {
  static constexpr int kRowTiles = row_tiles;
  static constexpr int kTiles = tiles;
  static constexpr int kAcross = across;
  static constexpr int kDeep = deep;
  static constexpr int kStages = stages;
  static constexpr bool kXShared = x_shared;

  static constexpr int kWarps = across * deep;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kRows = row_tiles * kGemvRows;          // Rows of x per block.
  static constexpr int kColumns = across * tiles * kGemvTile;  // Columns of y per block.
  static constexpr int kXStageBytes = x_shared ? deep * kRows * kGemvChunk * 2 : 0;
  // The length of a row of sums in shared memory. The 4 extra elements avoid bank conflicts.
  static constexpr int kSumPitch = kColumns + 4;
  static constexpr int kSumBytes = deep * kRows * kSumPitch * 4;

  template <typename Weights>
  static constexpr int SharedBytes() {
    constexpr int kRing = stages * (kWarps * tiles * Weights::kStageBytes + kXStageBytes);
    return kRing > kSumBytes ? kRing : kSumBytes;
  }
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

// Copies x's part of one stage to the ring of stages in shared memory, as an array indexed by
// [chunk of kDeep][half of the chunk][row][32 elements along k].
template <typename Shape, typename T>
__device__ void LoadXStage(char* stage, const GemvArguments<T>& arguments, int64_t row0,
                           int64_t chunk0, int64_t chunk_end) {
  constexpr int kVectors = kGemvChunk / 8;  // Vectors of 16 bytes per row of a chunk.
#pragma unroll
  for (int at = threadIdx.x; at < Shape::kDeep * Shape::kRows * kVectors; at += Shape::kThreads) {
    const int vector = at % kVectors;
    const int row = at / kVectors % Shape::kRows;
    const int deep = at / (kVectors * Shape::kRows);
    const int64_t k = (chunk0 + deep) * kGemvChunk + vector * 8;
    const bool valid = row0 + row < arguments.m && chunk0 + deep < chunk_end && k < arguments.k;
    char* to = stage + ((deep * 2 + vector / 4) * Shape::kRows + row) * 64 + vector % 4 * 16;
    CopyAsync<16>(to, valid ? arguments.x + (row0 + row) * arguments.k + k : arguments.x, valid);
  }
}

// Returns the 16 bytes of x in row `row` from element `k` on, or zeros if they are outside x.
template <typename T>
__device__ uint4 LoadX(const GemvArguments<T>& arguments, int64_t row, int64_t k) {
  if (row >= arguments.m || k >= arguments.k) return make_uint4(0, 0, 0, 0);
  return *reinterpret_cast<const uint4*>(arguments.x + row * arguments.k + k);
}

// Multiplies a chunk of W by x and adds the products to the sums of a warp.
template <typename Weights, typename Shape, typename T, typename XVector>
__device__ void MultiplyChunk(const char* weights, int lane, const XVector& x_vector,
                              float (&sum)[Shape::kTiles][Shape::kRowTiles][4]) {
  uint32_t a[Shape::kTiles][kGemvSteps][4];
  typename Weights::Scales scales[Shape::kTiles];
#pragma unroll
  for (int tile = 0; tile < Shape::kTiles; ++tile) {
    scales[tile] = Weights::Fragments(weights + tile * Weights::kStageBytes, lane, a[tile]);
  }
#pragma unroll
  for (int rows = 0; rows < Shape::kRowTiles; ++rows) {
    const uint4 x[2] = {x_vector(rows, 0), x_vector(rows, 1)};
#pragma unroll
    for (int tile = 0; tile < Shape::kTiles; ++tile) {
      Weights::template Multiply<T>(a[tile], x, scales[tile], sum[tile][rows]);
    }
  }
}

__device__ inline void AddTo(float4* total, const float4& more) {
  total->x += more.x;
  total->y += more.y;
  total->z += more.z;
  total->w += more.w;
}

// Writes four neighboring elements of y. `at` is the position of the first one within the block's
// tile of y, divided by four.
template <typename Shape, typename T>
__device__ void StoreFour(const GemvArguments<T>& arguments, int at, const float4& values) {
  const int64_t row = int64_t{blockIdx.z} * Shape::kRows + at * 4 / Shape::kColumns;
  const int64_t column = int64_t{blockIdx.x} * Shape::kColumns + at * 4 % Shape::kColumns;
  if (row >= arguments.m) return;
  const float elements[4] = {values.x, values.y, values.z, values.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (column + i < arguments.n) {
      arguments.y[row * arguments.n + column + i] = Narrow<T>(elements[i]);
    }
  }
}

// Records that this block has written its partial sums of a tile of y. Must be called by every
// block that processes part of k for this tile. Returns true only in the last block to call it,
// which can then read the partial sums of all the others.
__device__ inline bool IsLastSplit(unsigned* counter) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(counter, 1) == gridDim.y - 1;
    if (last) *counter = 0;
  }
  __syncthreads();
  __threadfence();
  return last;
}

// Adds up the sums of a block's warps and writes the block's tile of y. If k is split among blocks,
// the last block to arrive adds up the sums of all splits and writes the tile. The order of the
// additions is fixed to make results reproducible.
template <typename Shape, typename T>
__device__ void StoreSums(char* shared, const GemvArguments<T>& arguments,
                          const float (&sum)[Shape::kTiles][Shape::kRowTiles][4]) {
  constexpr int kPitch = Shape::kSumPitch;
  constexpr int kFours = Shape::kRows * Shape::kColumns / 4;
  auto* sums = reinterpret_cast<float*>(shared);
  const int lane = threadIdx.x % 32;
  const int across = threadIdx.x / 32 % Shape::kAcross;
  const int deep = threadIdx.x / 32 / Shape::kAcross;
  __syncthreads();  // All warps have finished reading the ring.
#pragma unroll
  for (int tile = 0; tile < Shape::kTiles; ++tile) {
#pragma unroll
    for (int rows = 0; rows < Shape::kRowTiles; ++rows) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = rows * kGemvRows + lane % 4 * 2 + i % 2;
        const int column = (across * Shape::kTiles + tile) * kGemvTile + lane / 4 + i / 2 * 8;
        sums[(deep * Shape::kRows + row) * kPitch + column] = sum[tile][rows][i];
      }
    }
  }
  __syncthreads();
  const int64_t tile = int64_t{blockIdx.z} * gridDim.x + blockIdx.x;
  auto* const partial = reinterpret_cast<float4*>(arguments.partial) + tile * gridDim.y * kFours;
  const bool split = gridDim.y > 1;
  for (int at = threadIdx.x; at < kFours; at += Shape::kThreads) {
    const float* from = sums + at * 4 / Shape::kColumns * kPitch + at * 4 % Shape::kColumns;
    float4 total = {};
#pragma unroll
    for (int part = 0; part < Shape::kDeep; ++part) {
      AddTo(&total, *reinterpret_cast<const float4*>(from + part * Shape::kRows * kPitch));
    }
    if (split) {
      partial[blockIdx.y * kFours + at] = total;
    } else {
      StoreFour<Shape>(arguments, at, total);
    }
  }
  if (!split || !IsLastSplit(arguments.arrived + tile)) return;
  // The last block may be the only one still running, so no other block hides the latency of its
  // loads. Each thread therefore keeps several loads in flight.
  constexpr int kAtOnce = 4;
  for (int at = threadIdx.x; at < kFours; at += kAtOnce * Shape::kThreads) {
    float4 total[kAtOnce] = {};
    for (unsigned part = 0; part < gridDim.y; ++part) {
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int four = min(at + i * Shape::kThreads, kFours - 1);
        AddTo(&total[i], __ldcg(partial + part * kFours + four));
      }
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int four = at + i * Shape::kThreads;
      if (four < kFours) StoreFour<Shape>(arguments, four, total[i]);
    }
  }
}

#endif

// Computes y = x W'. The grid is (strips of W's rows) x (splits of k) x (groups of x's rows). The
// first weights are loaded before the previous kernel in the stream has finished, which is safe
// because no kernel writes weights.
template <typename Weights, typename Shape, typename T>
__global__ void __launch_bounds__(Shape::kThreads)
    GemvKernel(Weights weights, GemvArguments<T> arguments) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) char shared[];
  constexpr int kWarpStage = Shape::kTiles * Weights::kStageBytes;
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int across = warp % Shape::kAcross;
  const int deep = warp / Shape::kAcross;
  char* const ring = shared + warp * Shape::kStages * kWarpStage;
  char* const x_ring = shared + Shape::kWarps * Shape::kStages * kWarpStage;
  const int64_t row0 = int64_t{blockIdx.z} * Shape::kRows;
  const int64_t begin = arguments.chunks * blockIdx.y / gridDim.y;
  const int64_t end = arguments.chunks * (blockIdx.y + 1) / gridDim.y;
  const auto steps = static_cast<int>((end - begin + Shape::kDeep - 1) / Shape::kDeep);
  typename Weights::Cursor cursor[Shape::kTiles];
#pragma unroll
  for (int tile = 0; tile < Shape::kTiles; ++tile) {
    const int64_t strip = int64_t{blockIdx.x} * Shape::kAcross + across;
    cursor[tile] = weights.At(strip * Shape::kTiles + tile, lane);
  }
  const auto load_weights = [&](int step) {
    const int64_t chunk = begin + int64_t{step} * Shape::kDeep + deep;
    if (chunk >= end) return;
    char* const stage = ring + step % Shape::kStages * kWarpStage;
#pragma unroll
    for (int tile = 0; tile < Shape::kTiles; ++tile) {
      weights.Load(stage + tile * Weights::kStageBytes, cursor[tile], chunk, lane);
    }
  };
  const auto load_x = [&](int step) {
    if (!Shape::kXShared || step >= steps) return;
    LoadXStage<Shape>(x_ring + step % Shape::kStages * Shape::kXStageBytes, arguments, row0,
                      begin + int64_t{step} * Shape::kDeep, end);
  };

  AllowNext();
  for (int step = 0; step < Shape::kStages - 1; ++step) {
    load_weights(step);
    if (!Shape::kXShared) CommitCopies();
  }
  WaitForPrevious();
  if (Shape::kXShared) {
    for (int step = 0; step < Shape::kStages - 1; ++step) {
      load_x(step);
      CommitCopies();
    }
  }
  float sum[Shape::kTiles][Shape::kRowTiles][4] = {};
  for (int step = 0; step < steps; ++step) {
    WaitForCopies<Shape::kStages - 2>();
    // If x is not shared, a lane reads only what it has copied itself, so no barrier is needed.
    if (Shape::kXShared) __syncthreads();
    load_weights(step + Shape::kStages - 1);
    load_x(step + Shape::kStages - 1);
    CommitCopies();
    const int64_t chunk = begin + int64_t{step} * Shape::kDeep + deep;
    if (chunk >= end) continue;
    const char* const x_stage = x_ring + step % Shape::kStages * Shape::kXStageBytes +
                                deep * 2 * Shape::kRows * 64 + lane * 16;
    const auto x_vector = [&](int rows, int half) {
      if (Shape::kXShared) {
        return *reinterpret_cast<const uint4*>(x_stage +
                                               (half * Shape::kRows + rows * kGemvRows) * 64);
      }
      return LoadX(arguments, row0 + rows * kGemvRows + lane / 4,
                   chunk * kGemvChunk + half * 32 + lane % 4 * 8);
    };
    MultiplyChunk<Weights, Shape, T>(ring + step % Shape::kStages * kWarpStage, lane, x_vector,
                                     sum);
  }
  StoreSums<Shape>(shared, arguments, sum);
#endif
}

}  // namespace assay
