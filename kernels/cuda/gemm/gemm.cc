// The factory of gemm's cases.
#include "kernels/cuda/gemm/gemm_case.h"

namespace assay {

Result<std::unique_ptr<Case>> NewGemmCase(const RunContext& context) {
  return PrepareCase<GemmCase>(context, GemmShapeOf(context.parameters));
}

}  // namespace assay
