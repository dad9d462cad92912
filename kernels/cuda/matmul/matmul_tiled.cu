// The matmul_tiled benchmark: each thread computes one element of D. A block copies tiles of `tile`
// x `tile` elements of A and B to shared memory and uses each element `tile` times.
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/matmul/matmul_case.h"

namespace assay {
namespace {

template <int kTile>
__global__ void __launch_bounds__(kTile* kTile)
    TiledKernel(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ d,
                int m, int n, int k) {
  __shared__ float tile_a[kTile][kTile];
  __shared__ float tile_b[kTile][kTile];
  const int x = static_cast<int>(threadIdx.x);
  const int y = static_cast<int>(threadIdx.y);
  const int column = static_cast<int>(blockIdx.x) * kTile + x;
  const int row = static_cast<int>(blockIdx.y) * kTile + y;
  float sum = 0;
  for (int first = 0; first < k; first += kTile) {
    // Zeros beyond the matrices add nothing.
    tile_a[y][x] = row < m && first + x < k ? a[int64_t{row} * k + first + x] : 0.0F;
    tile_b[y][x] = first + y < k && column < n ? b[int64_t{first + y} * n + column] : 0.0F;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kTile; ++i) sum += tile_a[y][i] * tile_b[i][x];
    __syncthreads();
  }
  if (row < m && column < n) d[int64_t{row} * n + column] = sum;
}

class TiledCase : public MatmulCase {
 public:
  explicit TiledCase(const RunContext& context)
      : MatmulCase(context, GemmType::kFp32), tile_(Word(context.parameters, "tile")) {}

 protected:
  Status Enqueue(int64_t set) override {
    if (tile_ == "8") return Launch<8>(set);
    if (tile_ == "16") return Launch<16>(set);
    return Launch<32>(set);
  }

 private:
  template <int kTile>
  Status Launch(int64_t set) {
    const dim3 grid(TilesFor(n(), kTile), TilesFor(m(), kTile));
    TiledKernel<kTile><<<grid, dim3(kTile, kTile), 0, stream()>>>(A<float>(set), B<float>(set),
                                                                  D<float>(set), m(), n(), k());
    ASSAY_CUDA(cudaGetLastError());
    return Status::Ok();
  }

  const std::string tile_;
};

}  // namespace

Result<std::unique_ptr<Case>> NewMatmulTiledCase(const RunContext& context) {
  return PrepareCase<TiledCase>(context);
}

}  // namespace assay
