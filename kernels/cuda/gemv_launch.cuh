// Launches a matrix product's kernel with the grid and the workspace that its sizes need.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/gemv_burst.cuh"
#include "kernels/cuda/gemv_kernel.cuh"

namespace assay {

// One product on one GPU. Used by one thread.
template <typename Weights, typename T>
class GemvLauncher {
 public:
  // Takes GemvKernel with `Shape` for an m x n product over k, k split over blocks if that
  // fills the GPU. Allocates.
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
    if (splits > 1) ASSAY_RETURN_IF_ERROR(launcher.AllocateWorkspace(splits));
    return Result<GemvLauncher>(std::move(launcher));
  }

  // Takes GemvBurstKernel with blocks of `warps` warps and rounds of `chunks` chunks; m is
  // at most kBurstRows.
  template <int chunks, int warps>
  static Result<GemvLauncher> Bursts(int64_t m, int64_t n, int64_t k, const GpuDevice& device) {
    GemvLauncher launcher(m, n, k, device);
    launcher.kernel_ = GemvBurstKernel<Weights, chunks, warps, T>;
    launcher.threads_ = 32 * warps;
    launcher.shared_bytes_ = GemvBurstLayout<Weights, chunks, warps>{static_cast<int>(m)}.Bytes();
    ASSAY_RETURN_IF_ERROR(launcher.Occupancy(device).status());
    launcher.grid_ = dim3(static_cast<unsigned>((n + kGemvTile - 1) / kGemvTile));
    return Result<GemvLauncher>(std::move(launcher));
  }

  // Enqueues y = x W'; may be captured.
  Status Launch(const Weights& weights, const T* x, T* y, cudaStream_t stream) const {
    GemvArguments<T> arguments = arguments_;
    arguments.x = x;
    arguments.y = y;
    arguments.partial = partial_.template as<float>();
    arguments.arrived = arrived_.template as<unsigned>();
    cudaLaunchAttribute overlap = {};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid_;
    config.blockDim = dim3(static_cast<unsigned>(threads_));
    config.dynamicSmemBytes = static_cast<size_t>(shared_bytes_);
    config.stream = stream;
    config.attrs = &overlap;
    config.numAttrs = overlap_ ? 1 : 0;
    ASSAY_CUDA(cudaLaunchKernelEx(&config, kernel_, weights, arguments));
    return Status::Ok();
  }

 private:
  // A split of k has at least so many steps of each warp.
  static constexpr int64_t kLeastSteps = 4;

  GemvLauncher(int64_t m, int64_t n, int64_t k, const GpuDevice& device)
      : overlap_(device.compute_major >= 9) {
    arguments_.m = m;
    arguments_.n = n;
    arguments_.k = k;
    arguments_.chunks = (k + kGemvChunk - 1) / kGemvChunk;
  }

  // Blocks that a multiprocessor holds, at least one.
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

  Status AllocateWorkspace(int64_t splits) {
    const int64_t sums = splits * arguments_.m * arguments_.n;
    ASSAY_ASSIGN_OR_RETURN(partial_, DeviceBuffer::Allocate(sums * 4, "the splits' sums"));
    const int64_t counters = int64_t{grid_.x} * grid_.z * 4;
    ASSAY_ASSIGN_OR_RETURN(arrived_, DeviceBuffer::Allocate(counters, "the splits' counters"));
    ASSAY_CUDA(cudaMemset(arrived_.data(), 0, static_cast<size_t>(counters)));
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
