// One matrix multiplication as a case, shared by `gemm` and `sustained`.
#pragma once

#include <memory>

#include "kernels/cuda/frame/gpu_case.h"
#include "kernels/cuda/gemm/ex_gemm.h"
#include "kernels/cuda/gemm/gemm_data.h"
#include "kernels/cuda/gemm/gemm_parameters.h"
#include "kernels/cuda/gemm/gemm_shape.h"
#include "kernels/cuda/gemm/lt_gemm.h"
#include "kernels/cuda/gemm/pad_matrix.h"

namespace assay {

// A benchmark case that computes D from A and B with a tuned LtGemm or an ExGemm. Iterations rotate
// through several buffer sets, each with its own A, B and D. With the parameter "pad", each
// iteration first copies A and B to padded matrices with aligned rows and multiplies the copies. D
// is then part of their product.
class GemmCase : public GpuCase {
 public:
  // If the benchmark declares the parameters, "api" selects ExGemm and "pad" selects padding.
  GemmCase(const RunContext& context, const GemmShape& shape);

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
  // A matrix A or B, and its padded copy.
  struct Input {
    int array = 0;       // Indices of the arrays.
    int multiplied = 0;  // The same one if it needs no padding.
    StoredMatrices stored;
    StoredMatrices padded;
  };

  Input AddInput(const StoredMatrices& stored, const StoredMatrices& padded);
  Status ClearCopies(int64_t set);
  Status PadInputs(int64_t set);
  GemmOperands OperandsOf(int64_t set) const;
  GemmInputs Inputs() const;

  const GemmShape shape_;
  const GemmShape multiplied_;  // The padded shape, or the same one.
  const bool by_ex_;
  std::unique_ptr<LtGemm> lt_;  // Either this or the next.
  std::unique_ptr<ExGemm> ex_;
  bool tuned_now_ = false;
  Input a_;
  Input b_;
  int d_ = 0;        // Index of the array.
  int checked_ = 0;  // The same one, or an array for D without what padding added.
};

}  // namespace assay
