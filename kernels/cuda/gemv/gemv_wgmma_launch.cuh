// Launches WgmmaGemvKernel with the grid, the tensor maps and the workspace it needs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/device.h"
#include "kernels/cuda/frame/tensor_map.h"
#include "kernels/cuda/gemm/gemm_shape.h"
#include "kernels/cuda/gemv/gemv_launch.cuh"
#include "kernels/cuda/gemv/gemv_wgmma.cuh"

namespace assay {

// y = x W' for 2 to 128 rows on a Hopper GPU, with T fp16 or bf16; k is a multiple of 8. Used by
// one thread.
template <typename T>
class WgmmaGemv {
 public:
  // Allocates the workspace for parts of k.
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

  // Adds a set of operands; the first is set 0.
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

  // Enqueues a set's product; may be captured.
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

  // Describes a row-major rows x k matrix in boxes of box_rows. Rows of a box are 128 bytes;
  // letting a miss fetch 256 into the L2 cache costs 3.5% on an H200.
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
