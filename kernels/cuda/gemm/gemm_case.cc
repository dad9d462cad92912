#include "kernels/cuda/gemm/gemm_case.h"

#include "kernels/cuda/execution/sustained_load.h"

namespace assay {
GemmCase::GemmCase(const RunContext& context, const GemmShape& shape)
    : GpuCase(context),
      shape_(shape),
      by_ex_(context.parameters.count("api") != 0 && Word(context.parameters, "api") == "ex") {}

void GemmCase::AdjustRule(MeasureRule* rule) const { AdjustRuleForLoad(shape_.Flops(), rule); }

Status GemmCase::SetUp() {
  const GemmDtype& dtype = GemmDtypeOf(shape_.type);
  ASSAY_RETURN_IF_ERROR(NeedCapability(device(), dtype.major, dtype.minor, dtype.name));
  // Comes first, so that its workspace is not counted as memory for matrices.
  if (by_ex_) {
    ASSAY_ASSIGN_OR_RETURN(ex_, ExGemm::Create(shape_, stream()));
  } else {
    ASSAY_ASSIGN_OR_RETURN(lt_, LtGemm::Create(shape_));
  }
  a_ = AddArray(shape_.ABytes());
  b_ = AddArray(shape_.BBytes());
  d_ = AddArray(shape_.DBytes());
  ASSAY_RETURN_IF_ERROR(AllocateSets("A, B and D of " + std::to_string(shape_.batch) + " x " +
                                     std::to_string(shape_.m) + " x " + std::to_string(shape_.n) +
                                     " x " + std::to_string(shape_.k)));
  for (int64_t set = 0; set < sets(); ++set) {
    ASSAY_RETURN_IF_ERROR(FillGemmInputs(shape_, Inputs(), set, Array<void>(set, a_),
                                         Array<void>(set, b_), stream()));
  }
  // Finds out whether cuBLAS supports the shape and type.
  if (by_ex_) return ex_->Enqueue(OperandsOf(0));
  // Matrices large enough to reach a GPU's power limit do not fit its caches either.
  const bool from_cache = !cold() && !shape_.IsSustained();
  const std::string conditions =
      std::string(zeros() ? "zeros" : "random") + (from_cache ? " hot" : "");
  int64_t set = 0;
  ASSAY_ASSIGN_OR_RETURN(
      tuned_now_, lt_->Tune([&] { return OperandsOf(set++ % sets()); }, conditions, stream()));
  return Status::Ok();
}

Status GemmCase::Enqueue(int64_t set) {
  return by_ex_ ? ex_->Enqueue(OperandsOf(set)) : lt_->Enqueue(OperandsOf(set), stream());
}

OutputRange GemmCase::Output(int64_t set) { return {Array<void>(set, d_), shape_.DBytes()}; }

Result<Verdict> GemmCase::Check(int64_t set) {
  return CheckGemm(shape_, Inputs(), set, OperandsOf(set), stream());
}

GemmOperands GemmCase::OperandsOf(int64_t set) const {
  return {Array<void>(set, a_), Array<void>(set, b_), Array<void>(set, d_)};
}

GemmInputs GemmCase::Inputs() const {
  return {seed(), zeros(), shape_.ABytes() / shape_.InputBytes(),
          shape_.BBytes() / shape_.InputBytes()};
}

}  // namespace assay
