// The factory of gemm's cases.
#include "kernels/cuda/gemm/gemm_case.h"

namespace assay {

Result<std::unique_ptr<Case>> NewGemmCase(const RunContext& context) {
  auto prepared = std::make_unique<GemmCase>(context, GemmShapeOf(context.parameters));
  ASSAY_RETURN_IF_ERROR(prepared->Prepare());
  return std::unique_ptr<Case>(std::move(prepared));
}

}  // namespace assay
