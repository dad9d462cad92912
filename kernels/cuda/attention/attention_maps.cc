// Tensor maps of attention's arrays for the variant `flash_wgmma`.
#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/frame/tensor_map.h"

namespace assay {

Result<CUtensorMap> EncodeAttentionMap(const AttentionShape& shape, const void* data, int rows) {
  const int64_t panels = shape.d / kAttentionPanel;
  const int64_t row_bytes = int64_t{shape.d} * 2;
  return EncodeTensorMap(
      shape.dtype == "fp16" ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
      data, {kAttentionPanel, shape.n, panels, shape.heads},
      {row_bytes, kAttentionPanel * 2, shape.n * row_bytes}, {kAttentionPanel, rows, panels, 1});
}

}  // namespace assay
