// The matmul_naive benchmark: each thread computes one element of D, reading A and B directly from
// global memory. It shows the performance of a matrix product that relies on caches alone.
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/matmul/matmul_case.h"

namespace assay {
namespace {

// Shape of a block, in elements of D. A warp computes 32 neighboring columns of one row, so each
// step reads 32 neighboring elements of B and a single element of A.
constexpr int kColumns = 128;
constexpr int kRows = 4;

__global__ void __launch_bounds__(kColumns* kRows)
    NaiveKernel(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ d,
                int m, int n, int k) {
  const int column = static_cast<int>(blockIdx.x) * kColumns + static_cast<int>(threadIdx.x);
  const int row = static_cast<int>(blockIdx.y) * kRows + static_cast<int>(threadIdx.y);
  if (row >= m || column >= n) return;
  const float* from_a = a + int64_t{row} * k;
  const float* from_b = b + column;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += from_a[i] * from_b[int64_t{i} * n];
  d[int64_t{row} * n + column] = sum;
}

class NaiveCase : public MatmulCase {
 public:
  explicit NaiveCase(const RunContext& context) : MatmulCase(context, GemmType::kFp32) {}

 protected:
  Status Enqueue(int64_t set) override {
    const dim3 grid(TilesFor(n(), kColumns), TilesFor(m(), kRows));
    NaiveKernel<<<grid, dim3(kColumns, kRows), 0, stream()>>>(A<float>(set), B<float>(set),
                                                              D<float>(set), m(), n(), k());
    ASSAY_CUDA(cudaGetLastError());
    return Status::Ok();
  }
};

}  // namespace

Result<std::unique_ptr<Case>> NewMatmulNaiveCase(const RunContext& context) {
  return PrepareCase<NaiveCase>(context);
}

}  // namespace assay
