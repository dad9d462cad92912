#include "kernels/cuda/gemm/gemm_case.h"

#include "kernels/cuda/execution/sustained_load.h"
#include "kernels/cuda/frame/cuda_check.h"

namespace assay {
namespace {

bool Pads(const RunContext& context) {
  return context.parameters.count("pad") != 0 && Word(context.parameters, "pad") == "true";
}

StoredMatrices StoredA(const GemmShape& shape) {
  return {shape.batch, shape.a_transposed ? shape.k : shape.m,
          (shape.a_transposed ? shape.m : shape.k) * shape.InputBytes()};
}

StoredMatrices StoredB(const GemmShape& shape) {
  return {shape.batch, shape.b_transposed ? shape.n : shape.k,
          (shape.b_transposed ? shape.k : shape.n) * shape.InputBytes()};
}

}  // namespace

GemmCase::GemmCase(const RunContext& context, const GemmShape& shape)
    : GpuCase(context),
      shape_(shape),
      multiplied_(Pads(context) ? shape.Padded() : shape),
      by_ex_(context.parameters.count("api") != 0 && Word(context.parameters, "api") == "ex") {}

void GemmCase::AdjustRule(MeasureRule* rule) const { AdjustRuleForLoad(shape_.Flops(), rule); }

Status GemmCase::SetUp() {
  const GemmDtype& dtype = GemmDtypeOf(shape_.type);
  ASSAY_RETURN_IF_ERROR(NeedCapability(device(), dtype.major, dtype.minor, dtype.name));
  // Comes first, so that its workspace is not counted as memory for matrices.
  if (by_ex_) {
    ASSAY_ASSIGN_OR_RETURN(ex_, ExGemm::Create(multiplied_, stream()));
  } else {
    ASSAY_ASSIGN_OR_RETURN(lt_, LtGemm::Create(multiplied_));
  }
  a_ = AddInput(StoredA(shape_), StoredA(multiplied_));
  b_ = AddInput(StoredB(shape_), StoredB(multiplied_));
  d_ = AddArray(multiplied_.DBytes());
  checked_ = multiplied_.DBytes() == shape_.DBytes() ? d_ : AddArray(shape_.DBytes());
  ASSAY_RETURN_IF_ERROR(AllocateSets("A, B and D of " + std::to_string(shape_.batch) + " x " +
                                     std::to_string(shape_.m) + " x " + std::to_string(shape_.n) +
                                     " x " + std::to_string(shape_.k)));
  for (int64_t set = 0; set < sets(); ++set) {
    ASSAY_RETURN_IF_ERROR(FillGemmInputs(shape_, Inputs(), set, Array<void>(set, a_.array),
                                         Array<void>(set, b_.array), stream()));
    ASSAY_RETURN_IF_ERROR(ClearCopies(set));
    ASSAY_RETURN_IF_ERROR(PadInputs(set));
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

GemmCase::Input GemmCase::AddInput(const StoredMatrices& stored, const StoredMatrices& padded) {
  const int array = AddArray(stored.Bytes());
  const int multiplied = stored.Bytes() == padded.Bytes() ? array : AddArray(padded.Bytes());
  return {array, multiplied, stored, padded};
}

// Clears the padded copies, including the rows that PadInputs does not write.
Status GemmCase::ClearCopies(int64_t set) {
  for (const Input& input : {a_, b_}) {
    if (input.multiplied == input.array) continue;
    ASSAY_CUDA(cudaMemsetAsync(Array<void>(set, input.multiplied), 0,
                               static_cast<size_t>(input.padded.Bytes()), stream()));
  }
  return Status::Ok();
}

Status GemmCase::PadInputs(int64_t set) {
  for (const Input& input : {a_, b_}) {
    if (input.multiplied == input.array) continue;
    ASSAY_RETURN_IF_ERROR(PadMatrices(input.stored, Array<void>(set, input.array),
                                      input.padded.rows, input.padded.row_bytes,
                                      Array<void>(set, input.multiplied), stream()));
  }
  return Status::Ok();
}

Status GemmCase::Enqueue(int64_t set) {
  ASSAY_RETURN_IF_ERROR(PadInputs(set));
  return by_ex_ ? ex_->Enqueue(OperandsOf(set)) : lt_->Enqueue(OperandsOf(set), stream());
}

OutputRange GemmCase::Output(int64_t set) { return {Array<void>(set, d_), multiplied_.DBytes()}; }

Result<Verdict> GemmCase::Check(int64_t set) {
  if (checked_ != d_) {
    const auto row_bytes = static_cast<size_t>(shape_.n * shape_.OutputBytes());
    const auto padded_row_bytes = static_cast<size_t>(multiplied_.n * shape_.OutputBytes());
    const int64_t elements = shape_.m * shape_.n;
    const int64_t padded_elements = multiplied_.m * multiplied_.n;
    for (int64_t product = 0; product < shape_.batch; ++product) {
      ASSAY_CUDA(cudaMemcpy2DAsync(
          Array<char>(set, checked_) + product * elements * shape_.OutputBytes(), row_bytes,
          Array<char>(set, d_) + product * padded_elements * shape_.OutputBytes(), padded_row_bytes,
          row_bytes, static_cast<size_t>(shape_.m), cudaMemcpyDeviceToDevice, stream()));
    }
  }
  const GemmOperands operands{Array<void>(set, a_.array), Array<void>(set, b_.array),
                              Array<void>(set, checked_)};
  return CheckGemm(shape_, Inputs(), set, operands, stream());
}

GemmOperands GemmCase::OperandsOf(int64_t set) const {
  return {Array<void>(set, a_.multiplied), Array<void>(set, b_.multiplied), Array<void>(set, d_)};
}

GemmInputs GemmCase::Inputs() const {
  return {seed(), zeros(), shape_.ABytes() / shape_.InputBytes(),
          shape_.BBytes() / shape_.InputBytes()};
}

}  // namespace assay
