// Chooses a GemvKernel for a product's sizes, and launches it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "kernels/cuda/device.h"
#include "kernels/cuda/gemv_kernel.cuh"

namespace assay {

// One product on one GPU: the kernel, its grid and its workspace. Used by one thread.
template <typename Weights, typename T>
class GemvLauncher {
 public:
  GemvLauncher() = default;

  // Takes the kernel of `Shape` for an m x n product over k. Allocates.
  template <typename Shape>
  static Result<GemvLauncher> Create(int64_t m, int64_t n, int64_t k, const GpuDevice& device) {
    GemvLauncher launcher;
    launcher.kernel_ = GemvKernel<Weights, Shape, T>;
    launcher.shared_bytes_ = Shape::template SharedBytes<Weights>();
    launcher.threads_ = Shape::kThreads;
    launcher.overlap_ = device.compute_major >= 9;
    if (launcher.shared_bytes_ > device.shared_bytes_per_block) {
      return Unsupported("this product needs " + std::to_string(launcher.shared_bytes_) +
                         " bytes of shared memory a block; this GPU has " +
                         std::to_string(device.shared_bytes_per_block));
    }
    ASSAY_CUDA(cudaFuncSetAttribute(launcher.kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    launcher.shared_bytes_));
    int resident = 0;
    ASSAY_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &resident, launcher.kernel_, Shape::kThreads, static_cast<size_t>(launcher.shared_bytes_)));
    const int64_t strips = (n + Shape::kColumns - 1) / Shape::kColumns;
    const int64_t row_blocks = (m + Shape::kRows - 1) / Shape::kRows;
    launcher.arguments_.m = m;
    launcher.arguments_.n = n;
    launcher.arguments_.k = k;
    launcher.arguments_.chunks = (k + kGemvChunk - 1) / kGemvChunk;
    const int64_t splits =
        Splits(strips * row_blocks, int64_t{device.sm_count} * std::max(resident, 1),
               launcher.arguments_.chunks / (Shape::kDeep * kLeastSteps));
    launcher.grid_ = dim3(static_cast<unsigned>(strips), static_cast<unsigned>(splits),
                          static_cast<unsigned>(row_blocks));
    if (splits > 1) ASSAY_RETURN_IF_ERROR(launcher.AllocateWorkspace(splits));
    return Result<GemvLauncher>(std::move(launcher));
  }

  // Enqueues y = x W'; may be captured.
  Status Launch(const Weights& weights, const T* x, T* y, cudaStream_t stream) const {
    GemvArguments<T> arguments = arguments_;
    arguments.x = x;
    arguments.y = y;
    arguments.partial = partial_.as<float>();
    arguments.arrived = arrived_.as<unsigned>();
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

  // As many as keep `slots`, the blocks that the GPU holds at once, filled with `blocks`.
  static int64_t Splits(int64_t blocks, int64_t slots, int64_t most) {
    return std::clamp<int64_t>(slots / blocks, 1, std::max<int64_t>(most, 1));
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
  int shared_bytes_ = 0;
  int threads_ = 0;
  bool overlap_ = false;
  dim3 grid_;
  GemvArguments<T> arguments_;
  DeviceBuffer partial_;
  DeviceBuffer arrived_;
};

}  // namespace assay
