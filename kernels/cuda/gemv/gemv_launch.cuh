// Launches GemvKernel with the grid and the workspace that it needs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "kernels/benchmark.h"
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/dependent_launch.cuh"
#include "kernels/cuda/frame/device.h"
#include "kernels/cuda/gemv/gemv_kernel.cuh"

namespace assay {

// Launches matrix products of one shape on one GPU. Must be used by a single thread.
template <typename Weights, typename T>
class GemvLauncher {
 public:
  // Prepares GemvKernel with the compile-time sizes `Shape` for y = x W', where x is m x k and W is
  // n x k. If there are too few blocks to fill the GPU, splits k among several blocks and allocates
  // a workspace for their sums.
  template <typename Shape>
  static Result<GemvLauncher> Tiled(int64_t m, int64_t n, int64_t k, const GpuDevice& device) {
    GemvLauncher launcher(m, n, k, device);
    launcher.kernel_ = GemvKernel<Weights, Shape, T>;
    launcher.threads_ = Shape::kThreads;
    launcher.shared_bytes_ = Shape::template SharedBytes<Weights>();
    ASSAY_ASSIGN_OR_RETURN(const int64_t resident, launcher.Occupancy(device));
    const int64_t strips = (n + Shape::kColumns - 1) / Shape::kColumns;
    const int64_t row_blocks = (m + Shape::kRows - 1) / Shape::kRows;
    const int64_t most = launcher.arguments_.chunks / (Shape::kDeep * kLeastSteps);
    const int64_t splits = std::clamp<int64_t>(resident * device.sm_count / (strips * row_blocks),
                                               1, std::max<int64_t>(most, 1));
    launcher.grid_ = dim3(static_cast<unsigned>(strips), static_cast<unsigned>(splits),
                          static_cast<unsigned>(row_blocks));
    if (splits > 1) {
      ASSAY_RETURN_IF_ERROR(launcher.AllocateWorkspace(splits * Shape::kRows * Shape::kColumns));
    }
    return Result<GemvLauncher>(std::move(launcher));
  }

  // Enqueues y = x W' on `stream`. May be captured into a CUDA graph.
  Status Launch(const Weights& weights, const T* x, T* y, cudaStream_t stream) const {
    GemvArguments<T> arguments = arguments_;
    arguments.x = x;
    arguments.y = y;
    arguments.partial = partial_.template as<float>();
    arguments.arrived = arrived_.template as<unsigned>();
    return LaunchOverlapping(kernel_, grid_, threads_, shared_bytes_, overlap_, stream, weights,
                             arguments);
  }

 private:
  // The minimum number of steps that each warp makes in a split of k.
  static constexpr int64_t kLeastSteps = 4;

  GemvLauncher(int64_t m, int64_t n, int64_t k, const GpuDevice& device)
      : overlap_(device.compute_major >= 9) {
    arguments_.m = m;
    arguments_.n = n;
    arguments_.k = k;
    arguments_.chunks = (k + kGemvChunk - 1) / kGemvChunk;
  }

  // Returns the number of resident blocks per multiprocessor, at least one.
  Result<int64_t> Occupancy(const GpuDevice& device) {
    if (shared_bytes_ > device.shared_bytes_per_block) {
      return Unsupported("this product needs " + std::to_string(shared_bytes_) +
                         " bytes of shared memory a block; this GPU has " +
                         std::to_string(device.shared_bytes_per_block));
    }
    ASSAY_CUDA(
        cudaFuncSetAttribute(kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes_));
    int blocks = 0;
    ASSAY_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel_, threads_,
                                                             static_cast<size_t>(shared_bytes_)));
    return std::max(blocks, 1);
  }

  // Allocates the workspace. `sums` is the number of partial sums per tile of y, over all splits.
  Status AllocateWorkspace(int64_t sums) {
    const int64_t tiles = int64_t{grid_.x} * grid_.z;
    ASSAY_ASSIGN_OR_RETURN(partial_, DeviceBuffer::Allocate(tiles * sums * 4, "the splits' sums"));
    const int64_t counters = tiles * 4;
    ASSAY_ASSIGN_OR_RETURN(arrived_, DeviceBuffer::Allocate(counters, "the splits' counters"));
    ASSAY_CUDA(cudaMemset(arrived_.data(), 0, static_cast<size_t>(counters)));
    ASSAY_CUDA(cudaDeviceSynchronize());  // The case's stream does not wait for the memset.
    return Status::Ok();
  }

  void (*kernel_)(Weights, GemvArguments<T>) = nullptr;
  bool overlap_ = false;  // Programmatic dependent launch.
  int shared_bytes_ = 0;
  int threads_ = 0;
  dim3 grid_;
  GemvArguments<T> arguments_;
  DeviceBuffer partial_;
  DeviceBuffer arrived_;
};

}  // namespace assay
