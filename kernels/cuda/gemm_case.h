// One matrix multiplication as a case: what `gemm` and `sustained` have in common.
#pragma once

#include <memory>
#include <string>

#include "kernels/cuda/gemm_data.h"
#include "kernels/cuda/gemm_shape.h"
#include "kernels/cuda/gpu_case.h"
#include "kernels/cuda/lt_gemm.h"

namespace assay {

// The parameter "dtype" of every type that cuBLASLt multiplies; bf16 by default. `rule` is that
// of the 8-bit types in the benchmark's own parameters, up to the number of elements:
// "n and k multiples of".
ParameterSpec GemmDtypeParameter(const std::string& rule);

// The type that a word of GemmDtypeParameter names.
GemmType GemmTypeOf(const std::string& dtype);

// FLOPs, bytes, the column of the peak and the launch of one multiplication, of which
// `parameters` say whether it is from a graph. INVALID_ARGUMENT if
// cuBLASLt does not take the shape.
Result<Work> GemmWork(const GemmShape& shape, const ParameterMap& parameters);

// A, B and D in each set of the rotation, multiplied by a tuned LtGemm.
class GemmCase : public GpuCase {
 public:
  GemmCase(const RunContext& context, const GemmShape& shape) : GpuCase(context), shape_(shape) {}

  void AdjustRule(MeasureRule* rule) const override;

 protected:
  Status SetUp() override;
  Status Enqueue(int64_t set) override;
  OutputRange Output(int64_t set) override;
  Result<Verdict> Check(int64_t set) override;

  const GemmShape& shape() const { return shape_; }
  // True if SetUp has just kept the GPU busy to compare algorithms.
  bool tuned_now() const { return tuned_now_; }

 private:
  GemmOperands OperandsOf(int64_t set) const;
  GemmInputs Inputs() const;

  const GemmShape shape_;
  std::unique_ptr<LtGemm> gemm_;
  bool tuned_now_ = false;
  int a_ = 0;  // Numbers of the arrays.
  int b_ = 0;
  int d_ = 0;
};

}  // namespace assay
