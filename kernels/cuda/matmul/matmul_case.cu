#include <utility>

#include "kernels/cuda/execution/sustained_load.h"
#include "kernels/cuda/matmul/matmul_case.h"

namespace assay {
MatmulCase::MatmulCase(const RunContext& context, GemmType type)
    : GpuCase(context), shape_(MatmulShapeOf(context.parameters, type)) {
  inputs_.seed = seed();
  inputs_.zeros = zeros();
  inputs_.stride_a = shape_.m * shape_.k;
  inputs_.stride_b = shape_.k * shape_.n;
}

void MatmulCase::AdjustRule(MeasureRule* rule) const { AdjustRuleForLoad(shape_.Flops(), rule); }

Status MatmulCase::SetUp() {
  ASSAY_RETURN_IF_ERROR(PrepareKernel());
  AddArray(shape_.ABytes());
  AddArray(shape_.BBytes());
  AddArray(shape_.DBytes());
  ASSAY_RETURN_IF_ERROR(AllocateSets("A, B and D of " + std::to_string(m()) + " x " +
                                     std::to_string(n()) + " x " + std::to_string(k())));
  for (int64_t set = 0; set < sets(); ++set) {
    ASSAY_RETURN_IF_ERROR(
        FillGemmInputs(shape_, inputs_, set, Array<void>(set, 0), Array<void>(set, 1), stream()));
    ASSAY_RETURN_IF_ERROR(PrepareSet(set));
  }
  return Status::Ok();
}

OutputRange MatmulCase::Output(int64_t set) { return {Array<void>(set, 2), shape_.DBytes()}; }

Result<Verdict> MatmulCase::Check(int64_t set) {
  return CheckGemm(shape_, inputs_, set,
                   {Array<void>(set, 0), Array<void>(set, 1), Array<void>(set, 2)}, stream());
}

}  // namespace assay
