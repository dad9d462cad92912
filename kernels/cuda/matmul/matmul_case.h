// What the rungs of the matmul ladder share: parameters, layout, fill, check and counts.
// A rung adds its kernel: a case derived from MatmulCase and a MatmulOf of it.
//
// D = A B, row-major, nothing transposed: A is m x k, B is k x n, D is m x n.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/benchmark.h"
#include "kernels/cuda/gemm/gemm_data.h"
#include "kernels/cuda/frame/gpu_case.h"

namespace assay {

class MatmulCase : public GpuCase {
 public:
  MatmulCase(const RunContext& context, GemmType type);

  void AdjustRule(MeasureRule* rule) const override;

 protected:
  Status SetUp() final;
  OutputRange Output(int64_t set) final;
  Result<Verdict> Check(int64_t set) final;

  // What the kernel needs, or Unsupported(); before any memory is taken.
  virtual Status PrepareKernel() { return Status::Ok(); }
  // What it needs of each set of the rotation: called once for each, in order.
  virtual Status PrepareSet(int64_t /*set*/) { return Status::Ok(); }

  // A, B and D of `set`, aligned to 256 bytes. Of the shape's type.
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

// What a rung says of itself.
struct MatmulRung {
  std::string name;
  std::string summary;
  std::string model;  // Bytes that its tiles read again; appended to the common model.
  GemmType type = GemmType::kFp32;
  // n and k must be multiples of this: rows of 16 bytes.
  int64_t multiple = 1;
  std::vector<ParameterSpec> parameters;  // Besides the common ones.
  ParameterMap selftest_parameters;
};

class Matmul : public Benchmark {
 public:
  explicit Matmul(const MatmulRung& rung);

  const BenchmarkInfo& Info() const override { return info_; }
  std::string UnsupportedReason() const override { return WhyNoGpu(); }
  Result<Work> WorkOf(const ParameterMap& parameters, int world_size) const override;

 private:
  const GemmType type_;
  BenchmarkInfo info_;
};

// A rung whose cases are of type T.
template <typename T>
class MatmulOf : public Matmul {
 public:
  using Matmul::Matmul;

  Result<std::unique_ptr<Case>> Prepare(const RunContext& context) const override {
    return PrepareGpuCase<T>(context);
  }
};

// Blocks of `tile` that cover `size`.
__host__ __device__ constexpr int TilesFor(int size, int tile) { return (size + tile - 1) / tile; }

// In which order blocks compute the tiles of D: down a band of `band` tile rows, column
// by column, so that the tiles under way at the same time are about as many rows as
// columns and find most of A and B in the L2.
class TileOrder {
 public:
  __host__ __device__ TileOrder(int rows, int columns, int band)
      : rows_(rows), columns_(columns), band_(band) {}

  __host__ __device__ int count() const { return rows_ * columns_; }

  struct Tile {
    int row;
    int column;
  };
  // Tile `index` of count().
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
