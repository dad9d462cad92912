// The layernorm benchmark: y = (x - mean) / sqrt(variance + 1e-5) * gamma + beta for each row of a
// matrix. The arithmetic is in layernorm_op.cuh.
#include "kernels/cuda/rows/layernorm_op.cuh"
#include "kernels/cuda/rows/row_case.cuh"

namespace assay {

Result<std::unique_ptr<Case>> NewLayerNormCase(const RunContext& context) {
  return PrepareRowCase<LayerNormOp>(context);
}

}  // namespace assay
