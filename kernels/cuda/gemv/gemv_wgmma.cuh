// Computes y = x W' for 2 to 128 rows of x on Hopper's tensor cores (wgmma). The copy engine (TMA)
// moves W and x to shared memory, where the tensor cores read them. Weights thus need neither
// registers nor load instructions, which saves power: with mma.sync and 16 rows, an H200 reaches
// its power limit at 3.3 TB/s. A block processes a strip of 64 rows of W. If there are too few
// strips for all SMs, each strip is divided into parts along k, and the last block to finish adds
// up the parts.
#pragma once

#include <cuda.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/dependent_launch.cuh"
#include "kernels/cuda/frame/device.h"
#include "kernels/cuda/frame/element.cuh"
#include "kernels/cuda/frame/hopper.cuh"
#include "kernels/cuda/frame/tensor_map.h"
#include "kernels/cuda/frame/wgmma.cuh"
#include "kernels/cuda/gemm/gemm_shape.h"
#include "kernels/cuda/gemv/gemv_launch.cuh"

namespace assay {

inline constexpr int kWgmmaGemvBox = 64;  // Along k: a row of 128 bytes, as the swizzle requires.
inline constexpr int kWgmmaGemvSlice = 128;  // Along k, copied at a time.
inline constexpr int kWgmmaGemvRows = 64;    // Rows of W per block: those of one wgmma.
// The threads of a block: one warpgroup that multiplies (the consumers), plus one warp that copies
// data to shared memory (the producer).
inline constexpr int kWgmmaGemvConsumers = 128;
inline constexpr int kWgmmaGemvThreads = kWgmmaGemvConsumers + 32;

// The arguments of a launch. x is m x k, W is n x k and y is m x n, all row-major and in device
// memory.
template <typename T>
struct WgmmaGemvArguments {
  CUtensorMap x;  // In boxes of kColumns rows x kWgmmaGemvBox.
  CUtensorMap w;  // In boxes of kWgmmaGemvRows x kWgmmaGemvBox.
  T* y;
  // The workspace, needed only if strips of W are divided into parts along k. `partial` holds the
  // partial sums of each part of each strip, and `arrived` holds one counter per strip. The
  // counters must be zero before the first launch; each launch resets them to zero.
  float* partial;
  unsigned* arrived;
  int m;
  int n;
  int k;
};

// Compile-time sizes of WgmmaGemvKernel. `columns` is the number of rows of x, rounded up to a size
// that wgmma supports. W and x pass through a ring of stages that fills an SM's shared memory. Each
// stage holds a slice (128 elements along k) of both W and x. A smaller ring would leave room for
// the next kernel's ring, but is 6% slower on an H200.
template <int columns>
struct WgmmaGemvShape {
  static constexpr int kColumns = columns;

  static constexpr int kBox = kWgmmaGemvBox;
  static constexpr int kRowBytes = 128;
  static constexpr int kAtomBytes = 8 * kRowBytes;  // One atom of the swizzle.
  static constexpr int kBoxes = kWgmmaGemvSlice / kBox;
  static constexpr int kWBox = kWgmmaGemvRows * kRowBytes;
  static constexpr int kXBox = columns * kRowBytes;
  static constexpr int kStageBytes = kBoxes * (kWBox + kXBox);
  static constexpr int kBarrierBytes = 2 * 8;  // Per stage.
  // The maximum size of the ring: a block's shared memory, minus the space for aligning the ring
  // and for the kernel's variables.
  static constexpr int kMostBytes = 227 * 1024 - kAtomBytes - 64;
  static constexpr int kStages = kMostBytes / (kStageBytes + kBarrierBytes);
  static constexpr int kSharedBytes = kAtomBytes + kStages * (kStageBytes + kBarrierBytes);
  static constexpr int kSums = columns / 2;  // Per thread.
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// The ring of stages in shared memory. Each stage holds a slice of W and a slice of x.
template <typename Shape>
struct WgmmaGemvRing {
  char* stages;
  uint64_t* full;
  uint64_t* empty;

  __device__ explicit WgmmaGemvRing(char* shared) {
    constexpr uintptr_t kAtom = Shape::kAtomBytes;
    stages =
        reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(shared) + kAtom - 1) / kAtom * kAtom);
    full = reinterpret_cast<uint64_t*>(stages + Shape::kStages * Shape::kStageBytes);
    empty = full + Shape::kStages;
  }
  __device__ char* W(int stage, int box) const {
    return stages + stage * Shape::kStageBytes + box * Shape::kWBox;
  }
  __device__ char* X(int stage, int box) const {
    return W(stage, Shape::kBoxes) + box * Shape::kXBox;
  }
};

// Copies slices `begin` to `end` - 1 of W and x (128 elements along k each) to the ring in shared
// memory. Must be called by a single thread. The first slices of W are loaded before the previous
// kernel in the stream has finished, which is safe because no kernel writes weights. Elements
// outside x and W are read as zeros.
template <typename Shape, typename T>
__device__ void ProduceSlices(const WgmmaGemvArguments<T>& arguments, int row0, int begin, int end,
                              const WgmmaGemvRing<Shape>& ring) {
  const auto load_w = [&](int slice, int stage) {
    hopper::ArriveExpect(&ring.full[stage], Shape::kStageBytes);
#pragma unroll
    for (int box = 0; box < Shape::kBoxes; ++box) {
      hopper::LoadBoxOnce(ring.W(stage, box), &arguments.w,
                          slice * kWgmmaGemvSlice + box * Shape::kBox, row0, &ring.full[stage]);
    }
  };
  const auto load_x = [&](int slice, int stage) {
#pragma unroll
    for (int box = 0; box < Shape::kBoxes; ++box) {
      hopper::LoadBox(ring.X(stage, box), &arguments.x, slice * kWgmmaGemvSlice + box * Shape::kBox,
                      0, &ring.full[stage]);
    }
  };
  const int first = min(Shape::kStages, end - begin);
  for (int i = 0; i < first; ++i) load_w(begin + i, i);
  WaitForPrevious();
  for (int i = 0; i < first; ++i) load_x(begin + i, i);
  for (int i = first; i < end - begin; ++i) {
    const int stage = i % Shape::kStages;
    hopper::WaitBarrier(&ring.empty[stage], (i / Shape::kStages - 1) % 2);
    load_w(begin + i, stage);
    load_x(begin + i, stage);
  }
}

// Multiplies `slices` slices of W and x from the ring, and adds the products to `sums`. Must be
// called by all consumer threads.
template <typename Shape, typename T>
__device__ void ConsumeSlices(int slices, const WgmmaGemvRing<Shape>& ring,
                              float (&sums)[Shape::kSums]) {
  for (int i = 0; i < slices; ++i) {
    const int stage = i % Shape::kStages;
    hopper::WaitBarrier(&ring.full[stage], i / Shape::kStages % 2);
    hopper::MatrixFence();
#pragma unroll
    for (int box = 0; box < Shape::kBoxes; ++box) {
      const uint64_t w = hopper::SwizzledOperand(ring.W(stage, box), 0, Shape::kAtomBytes);
      const uint64_t x = hopper::SwizzledOperand(ring.X(stage, box), 0, Shape::kAtomBytes);
#pragma unroll
      for (int step = 0; step < Shape::kBox / 16; ++step) {
        const int advance = step * 16 * int{sizeof(T)} / hopper::kDescriptorUnit;
        hopper::MultiplyShared<T, hopper::kAlongK>(sums, w + advance, x + advance,
                                                   i > 0 || box > 0 || step > 0);
      }
    }
    hopper::MatrixCommit();
    hopper::MatrixWait<0>();
    if (threadIdx.x % 32 == 0) hopper::Arrive(&ring.empty[stage]);
  }
}

// Adds up the sums of all parts of a strip, each of which comes from one block. In the last block
// to arrive, stores the total in `sums` and returns true; in all others, returns false. Must be
// called by all consumer threads.
template <typename Shape, typename T>
__device__ bool AddParts(const WgmmaGemvArguments<T>& arguments, float (&sums)[Shape::kSums]) {
  constexpr int kOfPart = Shape::kSums * kWgmmaGemvConsumers;
  __shared__ bool last;
  float* const strip = arguments.partial + int64_t{blockIdx.x} * gridDim.y * kOfPart + threadIdx.x;
#pragma unroll
  for (int i = 0; i < Shape::kSums; ++i) {
    strip[blockIdx.y * kOfPart + i * kWgmmaGemvConsumers] = sums[i];
  }
  __threadfence();
  hopper::SyncNamed(1, kWgmmaGemvConsumers);
  if (threadIdx.x == 0) {
    unsigned* const counter = arguments.arrived + blockIdx.x;
    last = atomicAdd(counter, 1) == gridDim.y - 1;
    if (last) *counter = 0;
  }
  hopper::SyncNamed(1, kWgmmaGemvConsumers);
  if (!last) return false;
  __threadfence();
#pragma unroll
  for (int i = 0; i < Shape::kSums; ++i) sums[i] = 0;
  for (unsigned part = 0; part < gridDim.y; ++part) {
#pragma unroll
    for (int i = 0; i < Shape::kSums; ++i) {
      sums[i] += __ldcg(strip + part * kOfPart + i * kWgmmaGemvConsumers);
    }
  }
  return true;
}

#endif

// Computes y = x W'. The grid is (strips of kWgmmaGemvRows rows of W) x (parts of k). No part may
// be empty.
template <typename Shape, typename T>
__global__ void __launch_bounds__(kWgmmaGemvThreads)
    WgmmaGemvKernel(const __grid_constant__ WgmmaGemvArguments<T> arguments) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ char shared[];
  const WgmmaGemvRing<Shape> ring(shared);
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < Shape::kStages; ++stage) {
      hopper::InitBarrier(&ring.full[stage], 1);
      hopper::InitBarrier(&ring.empty[stage], kWgmmaGemvConsumers / 32);
    }
    hopper::FenceBarrierInit();
  }
  __syncthreads();
  AllowNext();
  const int row0 = static_cast<int>(blockIdx.x) * kWgmmaGemvRows;
  const int slices = (arguments.k + kWgmmaGemvSlice - 1) / kWgmmaGemvSlice;
  const auto begin = static_cast<int>(int64_t{slices} * blockIdx.y / gridDim.y);
  const auto end = static_cast<int>(int64_t{slices} * (blockIdx.y + 1) / gridDim.y);
  // The shuffle tells the compiler that the value is the same in all lanes of the warp.
  const int warp = __shfl_sync(0xffffffff, static_cast<int>(threadIdx.x) / 32, 0);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (warp == kWgmmaGemvConsumers / 32) {
    if (lane == 0) ProduceSlices<Shape>(arguments, row0, begin, end, ring);
    return;
  }
  // Waits before anything is written, because the previous kernel may still use the same memory.
  WaitForPrevious();
  float sums[Shape::kSums];
  ConsumeSlices<Shape, T>(end - begin, ring, sums);
  if (gridDim.y > 1 && !AddParts<Shape>(arguments, sums)) return;
#pragma unroll
  for (int i = 0; i < Shape::kSums; ++i) {
    const int row = i / 4 * 8 + lane % 4 * 2 + i % 2;
    const int column = row0 + warp * 16 + lane / 4 + i / 2 % 2 * 8;
    if (row < arguments.m && column < arguments.n) {
      arguments.y[int64_t{row} * arguments.n + column] = Narrow<T>(sums[i]);
    }
  }
#endif
}

// A launcher of WgmmaGemvKernel for one shape: y = x W' for 2 to 128 rows of fp16 or bf16 (T) on a
// Hopper GPU. It owns the workspace and the tensor maps. k must be a multiple of 8. Must be used by
// a single thread.
template <typename T>
class WgmmaGemv {
 public:
  // Chooses the kernel for the shape and allocates the workspace for the parts of k.
  static Result<WgmmaGemv> Create(const GemmShape& shape, const GpuDevice& device) {
    WgmmaGemv gemv;
    gemv.arguments_.m = static_cast<int>(shape.m);
    gemv.arguments_.n = static_cast<int>(shape.n);
    gemv.arguments_.k = static_cast<int>(shape.k);
    if (shape.m <= 8) {
      gemv.template Take<WgmmaGemvShape<8>>(device);
    } else if (shape.m <= 16) {
      gemv.template Take<WgmmaGemvShape<16>>(device);
    } else if (shape.m <= 32) {
      gemv.template Take<WgmmaGemvShape<32>>(device);
    } else if (shape.m <= 64) {
      gemv.template Take<WgmmaGemvShape<64>>(device);
    } else {
      gemv.template Take<WgmmaGemvShape<128>>(device);
    }
    ASSAY_CUDA(cudaFuncSetAttribute(gemv.kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    gemv.shared_bytes_));
    ASSAY_RETURN_IF_ERROR(gemv.AllocateWorkspace());
    return Result<WgmmaGemv>(std::move(gemv));
  }

  // Adds a set of operands. Sets are numbered from 0 in the order in which they are added.
  Status AddSet(const T* x, const T* w, T* y) {
    WgmmaGemvArguments<T> set = arguments_;
    ASSAY_ASSIGN_OR_RETURN(set.x, Map(x, set.m, set.k, columns_));
    ASSAY_ASSIGN_OR_RETURN(set.w, Map(w, set.n, set.k, kWgmmaGemvRows));
    set.y = y;
    set.partial = partial_.template as<float>();
    set.arrived = arrived_.template as<unsigned>();
    sets_.push_back(set);
    return Status::Ok();
  }

  // Enqueues the product of set `set`. May be captured into a CUDA graph.
  Status Launch(int64_t set, cudaStream_t stream) const {
    return LaunchOverlapping(kernel_, grid_, kWgmmaGemvThreads, shared_bytes_, true, stream,
                             sets_[static_cast<size_t>(set)]);
  }

 private:
  static constexpr int64_t kLeastSlices = 4;  // Minimum slices per part of k.

  template <typename Shape>
  void Take(const GpuDevice& device) {
    kernel_ = WgmmaGemvKernel<Shape, T>;
    shared_bytes_ = Shape::kSharedBytes;
    columns_ = Shape::kColumns;
    const int64_t strips = (int64_t{arguments_.n} + kWgmmaGemvRows - 1) / kWgmmaGemvRows;
    const int64_t slices = (arguments_.k + kWgmmaGemvSlice - 1) / kWgmmaGemvSlice;
    const int64_t parts = std::clamp<int64_t>(device.sm_count / strips, 1,
                                              std::max<int64_t>(slices / kLeastSlices, 1));
    grid_ = dim3(static_cast<unsigned>(strips), static_cast<unsigned>(parts));
  }

  Status AllocateWorkspace() {
    if (grid_.y == 1) return Status::Ok();
    const int64_t sums = int64_t{grid_.x} * grid_.y * kWgmmaGemvRows * columns_;
    ASSAY_ASSIGN_OR_RETURN(partial_, DeviceBuffer::Allocate(sums * 4, "the parts' sums"));
    const int64_t counters = int64_t{grid_.x} * 4;
    ASSAY_ASSIGN_OR_RETURN(arrived_, DeviceBuffer::Allocate(counters, "the parts' counters"));
    ASSAY_CUDA(cudaMemset(arrived_.data(), 0, static_cast<size_t>(counters)));
    ASSAY_CUDA(cudaDeviceSynchronize());  // The case's stream does not wait for the memset.
    return Status::Ok();
  }

  // Returns a tensor map that describes a row-major rows x k matrix to the copy engine (TMA), which
  // copies boxes of box_rows rows of 128 bytes. An L2 miss fetches 128 bytes, because fetching 256
  // bytes is 3.5% slower on an H200.
  static Result<CUtensorMap> Map(const T* data, int rows, int k, int box_rows) {
    constexpr CUtensorMapDataType kType = std::is_same_v<T, __half>
                                              ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                              : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    return EncodeTensorMap(kType, data, {k, rows}, {k * int64_t{sizeof(T)}},
                           {kWgmmaGemvBox, box_rows}, CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
  }

  void (*kernel_)(WgmmaGemvArguments<T>) = nullptr;
  int shared_bytes_ = 0;
  int columns_ = 0;  // m, padded.
  dim3 grid_;
  WgmmaGemvArguments<T> arguments_ = {};  // Arguments that all sets have in common.
  DeviceBuffer partial_;
  DeviceBuffer arrived_;
  std::vector<WgmmaGemvArguments<T>> sets_;
};

}  // namespace assay
