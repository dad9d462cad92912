#include "kernels/cuda/frame/tensor_map.h"

#include <string>

#include "kernels/benchmark.h"
#include "kernels/cuda/frame/cuda_check.h"

namespace assay {
namespace {

using EncodeTiled = decltype(&cuTensorMapEncodeTiled);

// Finds the driver's function at run time, so that nothing links the driver.
Result<EncodeTiled> FindEncodeTiled() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  ASSAY_CUDA(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                              cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess || function == nullptr) {
    return Unsupported("tensor maps need a driver for CUDA 12 or newer; this one has none");
  }
  return reinterpret_cast<EncodeTiled>(function);
}

}  // namespace

Result<CUtensorMap> EncodeTensorMap(CUtensorMapDataType type, const void* data,
                                    const std::vector<int64_t>& sizes,
                                    const std::vector<int64_t>& strides,
                                    const std::vector<int64_t>& box,
                                    CUtensorMapL2promotion promotion) {
  ASSAY_ASSIGN_OR_RETURN(const EncodeTiled encode, FindEncodeTiled());
  const std::vector<cuuint64_t> size(sizes.begin(), sizes.end());
  const std::vector<cuuint64_t> stride(strides.begin(), strides.end());
  const std::vector<cuuint32_t> extent(box.begin(), box.end());
  const std::vector<cuuint32_t> steps(box.size(), 1);
  CUtensorMap map;
  const CUresult result =
      encode(&map, type, static_cast<cuuint32_t>(size.size()), const_cast<void*>(data), size.data(),
             stride.data(), extent.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
             CU_TENSOR_MAP_SWIZZLE_128B, promotion, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result == CUDA_SUCCESS) return map;
  std::string shape;
  for (const int64_t elements : sizes) {
    shape += (shape.empty() ? "" : " x ") + std::to_string(elements);
  }
  return Internal("cuTensorMapEncodeTiled returned " + std::to_string(result) + " for " + shape);
}

}  // namespace assay
