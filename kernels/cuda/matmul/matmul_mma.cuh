// A product of 16-bit matrices on Ampere's tensor cores (mma.sync, ldmatrix, cp.async). It is used
// by matmul_mma, and by layers that modify each element of the product in an epilogue.
//
// A block of eight warps computes 128 x 256 elements of D = A B, all row-major. Each warp computes
// 64 x 64 of these. Slices of A and B (64 elements along k) pass through a ring of at most four
// stages in shared memory: one slice is multiplied while the next ones are loaded. The 16-byte
// chunks of each row are permuted ("swizzled") so that ldmatrix reads eight rows without bank
// conflicts.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>

#include "common/units.h"
#include "kernels/benchmark.h"
#include "kernels/cuda/frame/async_copy.cuh"
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/device.h"
#include "kernels/cuda/frame/tensor_core.cuh"
#include "kernels/cuda/matmul/matmul_case.h"
#include "kernels/cuda/matmul/matmul_pipeline.cuh"

namespace assay {
namespace mma {

constexpr int kTileM = 128;
constexpr int kTileN = 256;
constexpr int kTileK = 64;
constexpr int kThreads = 256;
constexpr int kWarpSide = 64;
constexpr int kWarpColumns = kTileN / kWarpSide;
constexpr int kBand = 8;   // Tile rows per band.
constexpr int kChunk = 8;  // Elements in 16 bytes, the unit of copies and swizzles.
// Maximum number of stages, 48 KiB each. An A100 has shared memory for 3, an Ada GPU for 2.
constexpr int kMaxStages = 4;

template <typename Element>
struct Stage {
  Element a[kTileM * kTileK];
  Element b[kTileK * kTileN];
};

// Returns the position of chunk `chunk` of a row of `width` elements.
__device__ constexpr int Swizzled(int row, int chunk, int width) {
  return row * width + (chunk ^ (row % 8)) * kChunk;
}

// Copies this block's rows of A and columns of B, one slice after another.
template <typename Element>
class SliceLoader {
 public:
  __device__ SliceLoader(const Element* a, const Element* b, int m, int n, int k, int row,
                         int column)
      : from_a_(a + int64_t{row + ARow()} * k + AChunk() * kChunk),
        from_b_(b + int64_t{BRow()} * n + column + BChunk() * kChunk),
        step_a_(kRowsOfA * k),
        step_b_(kRowsOfB * n),
        next_b_(int64_t{kTileK} * n),
        to_a_(Swizzled(ARow(), AChunk(), kTileK)),
        to_b_(Swizzled(BRow(), BChunk(), kTileN)),
        rows_left_(m - row - ARow()),
        a_left_(k - AChunk() * kChunk),
        b_left_(column + BChunk() * kChunk < n ? k - BRow() : 0) {}

  // Copies the next slice as one group. Elements beyond the matrices are zeros, which add nothing.
  __device__ void Load(Stage<Element>* to) {
#pragma unroll
    for (int i = 0; i < kTileM / kRowsOfA; ++i) {
      CopyAsync<16>(&to->a[to_a_ + i * kRowsOfA * kTileK], from_a_ + i * step_a_,
                    i * kRowsOfA < rows_left_ && a_left_ > 0);
    }
#pragma unroll
    for (int i = 0; i < kTileK / kRowsOfB; ++i) {
      CopyAsync<16>(&to->b[to_b_ + i * kRowsOfB * kTileN], from_b_ + i * step_b_,
                    i * kRowsOfB < b_left_);
    }
    from_a_ += kTileK;
    from_b_ += next_b_;
    a_left_ -= kTileK;
    b_left_ -= kTileK;
  }

 private:
  // Multiples of 8, so that all chunks of a thread are swizzled alike.
  static constexpr int kRowsOfA = kThreads / (kTileK / kChunk);
  static constexpr int kRowsOfB = kThreads / (kTileN / kChunk);
  static_assert(kRowsOfA % 8 == 0 && kRowsOfB % 8 == 0);

  __device__ static int AChunk() { return static_cast<int>(threadIdx.x) % (kTileK / kChunk); }
  __device__ static int ARow() { return static_cast<int>(threadIdx.x) / (kTileK / kChunk); }
  __device__ static int BChunk() { return static_cast<int>(threadIdx.x) % (kTileN / kChunk); }
  __device__ static int BRow() { return static_cast<int>(threadIdx.x) / (kTileN / kChunk); }

  const Element* from_a_;
  const Element* from_b_;
  const int step_a_;
  const int step_b_;
  const int64_t next_b_;
  const int to_a_;
  const int to_b_;
  const int rows_left_;
  int a_left_;
  int b_left_;
};

// The fragments that a warp multiplies in one step: 64 rows of A and 64 columns of B at 16 k.
template <typename Element>
struct Fragments {
  uint32_t a[kWarpSide / 16][4];
  uint32_t b[kWarpSide / 16][4];

  // Loads the fragments for the 16 elements along k that start at 16 * step. `row` and `column` are
  // the warp's first row and column within the block's tile.
  __device__ void Load(const Stage<Element>& stage, int step, int row, int column) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const auto at_a = static_cast<uint32_t>(__cvta_generic_to_shared(
        &stage.a[row * kTileK + Swizzled(lane % 16, step * 2 + lane / 16, kTileK)]));
    const auto at_b = static_cast<uint32_t>(
        __cvta_generic_to_shared(&stage.b[(step * 16 + lane % 16) * kTileN + column]));
#pragma unroll
    for (int i = 0; i < kWarpSide / 16; ++i) {
      LoadMatrices(at_a + i * 16 * kTileK * 2, a[i]);
      // The warp's columns begin at a multiple of 8 chunks.
      LoadMatricesTransposed(at_b + Swizzled(lane % 8, i * 2 + lane / 16, 0) * 2, b[i]);
    }
  }
};

template <typename Element>
__device__ void MultiplyAdd(const Fragments<Element>& fragments,
                            float (&sums)[kWarpSide / 16][kWarpSide / 8][4]) {
#pragma unroll
  for (int y = 0; y < kWarpSide / 16; ++y) {
#pragma unroll
    for (int x = 0; x < kWarpSide / 8; ++x) {
      const uint32_t* b = &fragments.b[x / 2][x % 2 * 2];
      MultiplyTile<Element>(sums[y][x], fragments.a[y], b[0], b[1]);
    }
  }
}

// Rounds two neighboring elements and stores them.
template <typename Element>
__device__ void StorePair(Element* to, float2 pair) {
  if constexpr (std::is_same_v<Element, __half>) {
    *reinterpret_cast<__half2*>(to) = __floats2half2_rn(pair.x, pair.y);
  } else {
    *reinterpret_cast<__nv_bfloat162*>(to) = __floats2bfloat162_rn(pair.x, pair.y);
  }
}

// An epilogue that stores the product unchanged. Every epilogue is a struct passed to the kernel by
// value. Its function AtRow(row) returns a function object for one row of D. The kernel calls this
// object with a column and the elements of the product in that column and the next. The object
// returns the two elements of D in fp32.
struct PlainEpilogue {
  struct Row {
    __device__ float2 operator()(int /*column*/, float2 pair) const { return pair; }
  };
  __device__ Row AtRow(int /*row*/) const { return {}; }
};

template <typename Element, int kStages, typename Epilogue>
__global__ void __launch_bounds__(kThreads, 1)
    MmaKernel(const Element* __restrict__ a, const Element* __restrict__ b, Element* __restrict__ d,
              int m, int n, int k, const Epilogue epilogue) {
  extern __shared__ __align__(1024) char shared[];
  auto* const stages = reinterpret_cast<Stage<Element>*>(shared);
  const TileOrder order(TilesFor(m, kTileM), TilesFor(n, kTileN), kBand);
  const TileOrder::Tile tile = order.At(static_cast<int>(blockIdx.x));
  SliceLoader<Element> loader(a, b, m, n, k, tile.row * kTileM, tile.column * kTileN);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int row = warp / kWarpColumns * kWarpSide;
  const int column = warp % kWarpColumns * kWarpSide;

  float sums[kWarpSide / 16][kWarpSide / 8][4] = {};
  ForEachFragment<kStages, kTileK / 16, Fragments<Element>>(
      stages, loader, TilesFor(k, kTileK), row, column,
      [&](const Fragments<Element>& fragment) { MultiplyAdd(fragment, sums); });

  const int first_row = tile.row * kTileM + row + lane / 4;
  const int first_column = tile.column * kTileN + column + lane % 4 * 2;
#pragma unroll
  for (int y = 0; y < kWarpSide / 8; ++y) {
    const int to_row = first_row + y * 8;
    if (to_row >= m) continue;
    const auto finish = epilogue.AtRow(to_row);
#pragma unroll
    for (int x = 0; x < kWarpSide / 8; ++x) {
      const int to_column = first_column + x * 8;
      const float* pair = &sums[y / 2][x][y % 2 * 2];
      if (to_column < n) {
        StorePair(d + int64_t{to_row} * n + to_column,
                  finish(to_column, make_float2(pair[0], pair[1])));
      }
    }
  }
}

// Launches the kernel with as many stages as the GPU's shared memory holds.
template <typename Element, typename Epilogue = PlainEpilogue>
class Product {
 public:
  // Returns UNSUPPORTED if the GPU cannot run the kernel. `name` names the benchmark in the error.
  Status Prepare(const GpuDevice& device, const std::string& name) {
    ASSAY_RETURN_IF_ERROR(NeedCapability(
        device, 8, 0,
        std::string(std::is_same_v<Element, __half> ? "fp16" : "bf16") + " on tensor cores"));
    const int64_t fitting = device.shared_bytes_per_block / kStageBytes;
    if (fitting < 2) {
      return Unsupported(name + " needs " + ApproximateBytes(2 * kStageBytes) +
                         " of shared memory a block; this GPU has " +
                         ApproximateBytes(device.shared_bytes_per_block));
    }
    stages_ = static_cast<int>(std::min<int64_t>(fitting, kMaxStages));
    ASSAY_CUDA(cudaFuncSetAttribute(Kernel(), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    stages_ * static_cast<int>(kStageBytes)));
    return Status::Ok();
  }

  // Enqueues D = epilogue(A B) for row-major matrices: A is m x k, B is k x n. n and k must be
  // multiples of 8, and the matrices aligned to 16 bytes.
  Status Enqueue(const Element* a, const Element* b, Element* d, int m, int n, int k,
                 const Epilogue& epilogue, cudaStream_t stream) const {
    const int tiles = TilesFor(m, kTileM) * TilesFor(n, kTileN);
    Kernel()<<<tiles, kThreads, static_cast<size_t>(stages_ * kStageBytes), stream>>>(a, b, d, m, n,
                                                                                      k, epilogue);
    ASSAY_CUDA(cudaGetLastError());
    return Status::Ok();
  }

 private:
  static constexpr int64_t kStageBytes = sizeof(Stage<Element>);
  using KernelPointer = void (*)(const Element*, const Element*, Element*, int, int, int,
                                 const Epilogue);
  KernelPointer Kernel() const {
    return stages_ == 4   ? MmaKernel<Element, 4, Epilogue>
           : stages_ == 3 ? MmaKernel<Element, 3, Epilogue>
                          : MmaKernel<Element, 2, Epilogue>;
  }

  int stages_ = 0;
};

}  // namespace mma
}  // namespace assay
