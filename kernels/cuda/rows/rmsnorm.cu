// rmsnorm: y = x / sqrt(mean(x^2) + 1e-5) * gamma for each row (Zhang, Sennrich 2019).
#include <cmath>

#include "kernels/cuda/rows/row_case.cuh"

namespace assay {
namespace {

constexpr double kEpsilon = 1e-5;

struct RmsNormOp {
  static constexpr int kWeights = 1;

  struct Partial {
    float squares;
  };
  using Scale = float;

  __device__ static Partial None() { return {0}; }

  template <typename Piece>
  __device__ static Partial Summarise(float (&x)[Piece::kElements], const Piece& piece) {
    piece.ClearNeighbors(x);
    float squares = 0;
#pragma unroll
    for (int i = 0; i < Piece::kElements; ++i) squares = fmaf(x[i], x[i], squares);
    return {piece.Sum(squares)};
  }

  template <int kLanes>
  __device__ static Partial Merge(Partial partial) {
    return {SumLanes<kLanes>(partial.squares)};
  }

  __device__ static Partial Combine(Partial a, Partial b) { return {a.squares + b.squares}; }

  __device__ static Scale ScaleOf(const Partial&, const Partial& row, int64_t columns) {
    return rsqrtf(__fdividef(row.squares, static_cast<float>(columns)) +
                  static_cast<float>(kEpsilon));
  }

  __device__ static float Finish(float x, Scale scale, float gamma, float) {
    return x * scale * gamma;
  }

  __host__ __device__ static void AddToSums(double x, double* sums) { sums[0] += x * x; }

  __host__ __device__ static double Reference(double x, const double* sums, double columns,
                                              double gamma, double) {
    return x / sqrt(sums[0] / columns + kEpsilon) * gamma;
  }

  static ErrorLimits Limits(const std::string& dtype, int64_t) { return RowErrorLimits(dtype, 1); }
};

}  // namespace

Result<std::unique_ptr<Case>> NewRmsNormCase(const RunContext& context) {
  return PrepareRowCase<RmsNormOp>(context);
}

}  // namespace assay
