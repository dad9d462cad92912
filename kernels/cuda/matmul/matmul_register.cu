// The matmul_register benchmark: an fp32 product without tensor cores. Each thread keeps 8 x 8
// elements of D in registers, so that 4 vector loads from shared memory feed 64 multiply-adds. A
// block of 256 threads computes 128 x 128 elements. Slices of A and B (16 elements along k) pass
// through three stages in shared memory: one slice is multiplied while two are loaded. A is
// transposed on the way, so that a thread can load elements of a column as a vector.
#include "kernels/cuda/frame/async_copy.cuh"
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/matmul/matmul_case.h"
#include "kernels/cuda/matmul/matmul_pipeline.cuh"

namespace assay {
namespace {

constexpr int kTile = 128;
constexpr int kTileK = 16;
constexpr int kStages = 3;
constexpr int kThreads = 256;
constexpr int kPiece = 8;
constexpr int kWarpColumns = kTile / 64;
// Rows of tiles in a band.
constexpr int kBand = 8;
// Floats between rows of A's slice. The 4 extra floats spread a warp's copies over all banks.
constexpr int kPitch = kTile + 4;

struct alignas(16) Stage {
  float a[kTileK][kPitch];
  float b[kTileK][kTile];
};

// Copies slices of this block's rows of A and columns of B to shared memory. kVector is the number
// of floats of B per copy: 4 if rows of B are aligned to 16 bytes, else 1.
template <int kVector>
class SliceLoader {
 public:
  __device__ SliceLoader(const float* a, const float* b, int m, int n, int k, int row, int column)
      : from_a_(a + int64_t{row + ARow()} * k + AK()),
        from_b_(b + int64_t{BK()} * n + column + BColumn()),
        step_a_(kRowsOfA * k),
        step_b_(kRowsOfB * n),
        next_b_(int64_t{kTileK} * n),
        rows_left_(m - row - ARow()),
        a_left_(k - AK()),
        b_left_(column + BColumn() < n ? k - BK() : 0) {}

  // Copies the next slice as one group. Elements beyond the matrices are zeros, which add nothing.
  __device__ void Load(Stage* to) {
#pragma unroll
    for (int i = 0; i < kTile / kRowsOfA; ++i) {
#pragma unroll
      for (int l = 0; l < kTileK; l += 8) {
        CopyAsync<4>(&to->a[AK() + l][ARow() + i * kRowsOfA], from_a_ + i * step_a_ + l,
                     i * kRowsOfA < rows_left_ && l < a_left_);
      }
    }
#pragma unroll
    for (int i = 0; i < kTileK / kRowsOfB; ++i) {
      CopyAsync<4 * kVector>(&to->b[BK() + i * kRowsOfB][BColumn()], from_b_ + i * step_b_,
                             i * kRowsOfB < b_left_);
    }
    from_a_ += kTileK;
    from_b_ += next_b_;
    a_left_ -= kTileK;
    b_left_ -= kTileK;
  }

 private:
  static constexpr int kRowsOfA = kThreads / 8;
  static constexpr int kRowsOfB = kThreads * kVector / kTile;

  __device__ static int AK() { return static_cast<int>(threadIdx.x) % 8; }
  __device__ static int ARow() { return static_cast<int>(threadIdx.x) / 8; }
  __device__ static int BK() { return static_cast<int>(threadIdx.x) / (kTile / kVector); }
  __device__ static int BColumn() {
    return static_cast<int>(threadIdx.x) % (kTile / kVector) * kVector;
  }

  const float* from_a_;
  const float* from_b_;
  const int step_a_;
  const int step_b_;
  const int64_t next_b_;
  const int rows_left_;
  int a_left_;
  int b_left_;
};

// The elements of A and B that a thread multiplies at one position along k: two groups of four rows
// of A, 16 rows apart, and two groups of four columns of B, 32 columns apart.
struct Fragment {
  float a[kPiece];
  float b[kPiece];

  __device__ void Load(const Stage& stage, int k, int row, int column) {
#pragma unroll
    for (int quad = 0; quad < kPiece / 4; ++quad) {
      *reinterpret_cast<float4*>(a + quad * 4) =
          *reinterpret_cast<const float4*>(&stage.a[k][row + quad * 16]);
      *reinterpret_cast<float4*>(b + quad * 4) =
          *reinterpret_cast<const float4*>(&stage.b[k][column + quad * 32]);
    }
  }
};

__device__ void MultiplyAdd(const Fragment& fragment, float (&sums)[kPiece][kPiece]) {
#pragma unroll
  for (int y = 0; y < kPiece; ++y) {
#pragma unroll
    for (int x = 0; x < kPiece; ++x) sums[y][x] += fragment.a[y] * fragment.b[x];
  }
}

// Writes the part of a thread's piece that lies within m x n.
template <int kVector>
__device__ void StorePiece(const float (&sums)[kPiece][kPiece], float* d, int m, int n, int row,
                           int column) {
#pragma unroll
  for (int y = 0; y < kPiece; ++y) {
    const int to_row = row + y / 4 * 16 + y % 4;
    if (to_row >= m) continue;
    float* to = d + int64_t{to_row} * n;
#pragma unroll
    for (int x = 0; x < kPiece; x += 4) {
      const int to_column = column + x * 8;
      if constexpr (kVector == 4) {
        if (to_column < n) {
          *reinterpret_cast<float4*>(to + to_column) =
              make_float4(sums[y][x], sums[y][x + 1], sums[y][x + 2], sums[y][x + 3]);
        }
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if (to_column + i < n) to[to_column + i] = sums[y][x + i];
        }
      }
    }
  }
}

template <int kVector>
__global__ void __launch_bounds__(kThreads, 2)
    RegisterKernel(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ d,
                   int m, int n, int k) {
  extern __shared__ Stage stages[];
  const TileOrder order(TilesFor(m, kTile), TilesFor(n, kTile), kBand);
  const TileOrder::Tile tile = order.At(static_cast<int>(blockIdx.x));
  SliceLoader<kVector> loader(a, b, m, n, k, tile.row * kTile, tile.column * kTile);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int row = warp / kWarpColumns * 32 + lane / 8 * 4;
  const int column = warp % kWarpColumns * 64 + lane % 8 * 4;

  float sums[kPiece][kPiece] = {};
  ForEachFragment<kStages, kTileK, Fragment>(
      stages, loader, TilesFor(k, kTileK), row, column,
      [&](const Fragment& fragment) { MultiplyAdd(fragment, sums); });
  StorePiece<kVector>(sums, d, m, n, tile.row * kTile + row, tile.column * kTile + column);
}

class RegisterCase : public MatmulCase {
 public:
  explicit RegisterCase(const RunContext& context) : MatmulCase(context, GemmType::kFp32) {}

 protected:
  Status PrepareKernel() override {
    ASSAY_CUDA(cudaFuncSetAttribute(Kernel(), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    kStages * sizeof(Stage)));
    return Status::Ok();
  }

  Status Enqueue(int64_t set) override {
    const int tiles = TilesFor(m(), kTile) * TilesFor(n(), kTile);
    Kernel()<<<tiles, kThreads, kStages * sizeof(Stage), stream()>>>(A<float>(set), B<float>(set),
                                                                     D<float>(set), m(), n(), k());
    ASSAY_CUDA(cudaGetLastError());
    return Status::Ok();
  }

 private:
  using KernelPointer = void (*)(const float*, const float*, float*, int, int, int);
  KernelPointer Kernel() const { return n() % 4 == 0 ? RegisterKernel<4> : RegisterKernel<1>; }
};

}  // namespace

Result<std::unique_ptr<Case>> NewMatmulRegisterCase(const RunContext& context) {
  return PrepareCase<RegisterCase>(context);
}

}  // namespace assay
