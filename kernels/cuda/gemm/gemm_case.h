// One matrix multiplication as a case, shared by `gemm` and `sustained`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/frame/gpu_case.h"
#include "kernels/cuda/gemm/gemm_data.h"
#include "kernels/cuda/gemm/gemm_shape.h"
#include "kernels/cuda/gemm/lt_gemm.h"

namespace assay {

// Returns the parameter "dtype" with every type that cuBLASLt multiplies; the default is bf16.
ParameterSpec GemmDtypeParameter();

// Of n and k: what the 8-bit types of "dtype" ask for, whole 16 or 4 elements in a row.
OldMultipleOf GemmMultiple();

// The choices of "dtype" that are fp8 types, and all that multiply 8-bit numbers.
std::vector<std::string> Fp8Words();
std::vector<std::string> ByteWords();

// Returns the type that a choice of GemmDtypeParameter names.
GemmType GemmTypeOf(const std::string& dtype);

// Returns FLOPs, bytes, the column of the peak, and the launch of one multiplication. `parameters`
// say whether it is launched by a graph.
Work GemmWork(const GemmShape& shape, const ParameterMap& parameters);

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
  // Returns true if SetUp kept the GPU busy just now to compare algorithms.
  bool tuned_now() const { return tuned_now_; }

 private:
  GemmOperands OperandsOf(int64_t set) const;
  GemmInputs Inputs() const;

  const GemmShape shape_;
  std::unique_ptr<LtGemm> gemm_;
  bool tuned_now_ = false;
  int a_ = 0;  // Indices of the arrays.
  int b_ = 0;
  int d_ = 0;
};

}  // namespace assay
