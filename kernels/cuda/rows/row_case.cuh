// The frame of the cases over the rows of a matrix: memory, inputs and check. A benchmark adds its
// Op (row_kernels.cuh, row_check.cuh) and, for variants, a case that launches other kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/units.h"
#include "kernels/cuda/frame/gpu_case.h"
#include "kernels/cuda/rows/row_check.cuh"
#include "kernels/cuda/rows/row_program.cuh"

namespace assay {

// Returns the maximum deviation from the reference: rounding to `dtype`, and for fp32 the rounding
// of the arithmetic. `typical` is the size of a typical element.
inline ErrorLimits RowErrorLimits(const std::string& dtype, double typical) {
  ErrorLimits limits;
  limits.tolerance = dtype == "bf16" ? 4e-3 : dtype == "fp16" ? 1e-3 : 1e-5;
  limits.element = dtype == "fp32" ? 20 * limits.tolerance : 4 * limits.tolerance;
  limits.typical = typical;
  return limits;
}

template <typename Op, typename T>
class RowCase : public GpuCase {
 public:
  explicit RowCase(const RunContext& context)
      : GpuCase(context),
        dtype_(Word(context.parameters, "dtype")),
        rows_(Integer(context.parameters, "rows")),
        columns_(Integer(context.parameters, "columns")) {}

 protected:
  // Checks the variant's requirements with the GPU current, and returns the bytes of memory that it
  // needs for itself.
  virtual Result<int64_t> PlanVariant() {
    ASSAY_RETURN_IF_ERROR(program_.Plan(rows_, columns_));
    return program_.WorkspaceBytes();
  }
  virtual Status EnqueueVariant(const RowArgs<T>& args, void* workspace) {
    return program_.Enqueue(args, workspace, stream());
  }

  Status SetUp() override {
    ASSAY_ASSIGN_OR_RETURN(const int64_t workspace, PlanVariant());
    const int64_t bytes = rows_ * columns_ * kElementBytes;
    AddArray(bytes);
    AddArray(bytes);
    for (int weight = 0; weight < Op::kWeights; ++weight) AddArray(columns_ * kElementBytes);
    AddArray(workspace);
    ASSAY_RETURN_IF_ERROR(AllocateSets("the input and output of " + ApproximateBytes(bytes), 4));
    for (int64_t set = 0; set < sets(); ++set) {
      ASSAY_RETURN_IF_ERROR(FillElements(Array<T>(set, 1), rows_ * columns_, zeros(), seed(),
                                         kRowStreamInput, set * rows_ * columns_, stream()));
      for (int weight = 0; weight < Op::kWeights; ++weight) {
        ASSAY_RETURN_IF_ERROR(FillElements(Array<T>(set, 2 + weight), columns_, false, seed(),
                                           kRowStreamWeights + static_cast<uint64_t>(weight), 0,
                                           stream()));
      }
    }
    return Status::Ok();
  }

  Status Enqueue(int64_t set) override {
    RowArgs<T> args;
    args.in = Array<T>(set, 1);
    args.out = Array<T>(set, 0);
    for (int weight = 0; weight < Op::kWeights; ++weight) {
      args.weights[weight] = Array<T>(set, 2 + weight);
    }
    args.rows = rows_;
    args.columns = columns_;
    return EnqueueVariant(args, Array<void>(set, 2 + Op::kWeights));
  }

  OutputRange Output(int64_t set) override {
    return {Array<void>(set, 0), rows_ * columns_ * kElementBytes};
  }

  Result<Verdict> Check(int64_t set) override {
    const RowValues<T> values{seed(), set * rows_ * columns_, zeros(), rows_, columns_};
    return CheckRows<Op, T>(Array<T>(set, 0), values, Op::Limits(dtype_, columns_), stream());
  }

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }

 private:
  static constexpr int64_t kElementBytes = sizeof(T);

  const std::string dtype_;
  const int64_t rows_;
  const int64_t columns_;
  RowProgram<Op, T> program_;
};

template <typename Op>
Result<std::unique_ptr<Case>> PrepareRowCase(const RunContext& context) {
  return WithElementType(
      Word(context.parameters, "dtype"), [&](auto tag) -> Result<std::unique_ptr<Case>> {
        return PrepareGpuCase<RowCase<Op, typename decltype(tag)::Type>>(context);
      });
}

}  // namespace assay
