// Tensor maps of attention's arrays for the variant `flash_wgmma`.
#include <string>

#include "kernels/cuda/attention.h"
#include "kernels/cuda/cuda_check.h"

namespace assay {

Status EncodeAttentionMap(const AttentionShape& shape, const void* data, int rows,
                          CUtensorMap* map) {
  // From the driver at run time, so that nothing is linked with it.
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  ASSAY_CUDA(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                              cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess || function == nullptr) {
    return Unsupported("tensor maps need a driver for CUDA 12 or newer");
  }
  const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
  const auto panels = static_cast<cuuint64_t>(shape.d / kAttentionPanel);
  const auto row_bytes = static_cast<cuuint64_t>(shape.d) * 2;
  const auto n = static_cast<cuuint64_t>(shape.n);
  const cuuint64_t sizes[4] = {kAttentionPanel, n, panels, static_cast<cuuint64_t>(shape.heads)};
  const cuuint64_t strides[3] = {row_bytes, kAttentionPanel * 2, n * row_bytes};
  const cuuint32_t box[4] = {kAttentionPanel, static_cast<cuuint32_t>(rows),
                             static_cast<cuuint32_t>(panels), 1};
  const cuuint32_t steps[4] = {1, 1, 1, 1};
  const CUtensorMapDataType type =
      shape.dtype == "fp16" ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  const CUresult result =
      encode(map, type, 4, const_cast<void*>(data), sizes, strides, box, steps,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    return Internal("cuTensorMapEncodeTiled returned " + std::to_string(result) + " for " +
                    std::to_string(shape.heads) + " x " + std::to_string(shape.n) + " x " +
                    std::to_string(shape.d));
  }
  return Status::Ok();
}

}  // namespace assay
