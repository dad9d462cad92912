// The matmul_mma benchmark: a bf16 product on Ampere's tensor cores. The kernel is in
// matmul_mma.cuh.
#include "kernels/cuda/frame/element.cuh"
#include "kernels/cuda/matmul/matmul_case.h"
#include "kernels/cuda/matmul/matmul_mma.cuh"

namespace assay {
namespace {

using Element = __nv_bfloat16;

class MmaCase : public MatmulCase {
 public:
  explicit MmaCase(const RunContext& context) : MatmulCase(context, GemmType::kBf16) {}

 protected:
  Status PrepareKernel() override { return product_.Prepare(device(), "matmul_mma"); }

  Status Enqueue(int64_t set) override {
    return product_.Enqueue(A<Element>(set), B<Element>(set), D<Element>(set), m(), n(), k(), {},
                            stream());
  }

 private:
  mma::Product<Element> product_;
};

}  // namespace

Result<std::unique_ptr<Case>> NewMatmulMmaCase(const RunContext& context) {
  return PrepareCase<MmaCase>(context);
}

}  // namespace assay
