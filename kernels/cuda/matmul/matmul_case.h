// The base class of the matmul benchmarks, which multiply matrices with the kernels in this folder.
// It allocates and fills the matrices and checks the result; each benchmark adds its own kernel.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/benchmark.h"
#include "kernels/cuda/frame/gpu_case.h"
#include "kernels/cuda/gemm/gemm_data.h"
#include "kernels/cuda/matmul/matmul_shape.h"

namespace assay {

class MatmulCase : public GpuCase {
 public:
  MatmulCase(const RunContext& context, GemmType type);

  void AdjustRule(MeasureRule* rule) const override;

 protected:
  Status SetUp() final;
  OutputRange Output(int64_t set) final;
  Result<Verdict> Check(int64_t set) final;

  // Checks whether the kernel can run on this GPU, before any memory is allocated. Returns
  // Unsupported() if it cannot.
  virtual Status PrepareKernel() { return Status::Ok(); }
  // Prepares the kernel for the buffers of `set`. Called once per set, in order.
  virtual Status PrepareSet(int64_t /*set*/) { return Status::Ok(); }

  // Return A, B and D of `set`, aligned to 256 bytes, with elements of the shape's type.
  template <typename T>
  const T* A(int64_t set) const {
    return Array<T>(set, 0);
  }
  template <typename T>
  const T* B(int64_t set) const {
    return Array<T>(set, 1);
  }
  template <typename T>
  T* D(int64_t set) const {
    return Array<T>(set, 2);
  }
  int m() const { return static_cast<int>(shape_.m); }
  int n() const { return static_cast<int>(shape_.n); }
  int k() const { return static_cast<int>(shape_.k); }

 private:
  const GemmShape shape_;
  GemmInputs inputs_;
};

// Returns how many tiles of size `tile` cover `size`.
__host__ __device__ constexpr int TilesFor(int size, int tile) { return (size + tile - 1) / tile; }

// The order in which blocks compute the tiles of D: column by column within a band of `band` tile
// rows, one band after another. Tiles computed at the same time then form roughly a square, so they
// share most of A and B in the L2 cache.
class TileOrder {
 public:
  __host__ __device__ TileOrder(int rows, int columns, int band)
      : rows_(rows), columns_(columns), band_(band) {}

  __host__ __device__ int count() const { return rows_ * columns_; }

  struct Tile {
    int row;
    int column;
  };
  // Returns tile number `index`, which is from 0 to count() - 1.
  __host__ __device__ Tile At(int index) const {
    const int first = index / (band_ * columns_) * band_;
    const int within = index % (band_ * columns_);
    const int height = rows_ - first < band_ ? rows_ - first : band_;
    return {first + within % height, within / height};
  }

 private:
  const int rows_;
  const int columns_;
  const int band_;
};

}  // namespace assay
