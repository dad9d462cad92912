// layernorm: y = (x - mean) / sqrt(variance + 1e-5) * gamma + beta, of each row (Ba,
// Kiros, Hinton 2016), the variance biased.
#include <algorithm>
#include <cmath>

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/row_case.cuh"

namespace assay {
namespace {

constexpr double kEpsilon = 1e-5;

struct LayerNormOp {
  static constexpr int kWeights = 2;
  static constexpr int kFlops = 8;  // An element.

  // Count, mean and sum of squared differences from it, as each subset has them:
  // sums of squares would cancel where the mean is large.
  struct Partial {
    float count;
    float mean;
    float squares;
  };
  struct Scale {
    float mean;
    float inverse_deviation;
  };

  __device__ static Partial None() { return {0, 0, 0}; }

  template <typename Piece>
  __device__ static Partial Summarise(float (&x)[Piece::kElements], const Piece& piece) {
    piece.SetOutside(x, 0);
    float sum = 0;
#pragma unroll
    for (int i = 0; i < Piece::kElements; ++i) sum += x[i];
    const auto count = static_cast<float>(piece.Count());
    const float mean = count > 0 ? sum / count : 0;
    piece.SetOutside(x, mean);
    float squares = 0;
#pragma unroll
    for (int i = 0; i < Piece::kElements; ++i) squares = fmaf(x[i] - mean, x[i] - mean, squares);
    return {count, mean, squares};
  }

  // Chan, Golub, LeVeque: "Updating formulae and a pairwise algorithm for computing
  // sample variances", 1979.
  __device__ static Partial Combine(Partial a, Partial b) {
    const float count = a.count + b.count;
    const float share = count > 0 ? __fdividef(b.count, count) : 0;
    const float difference = b.mean - a.mean;
    return {count, fmaf(difference, share, a.mean),
            a.squares + b.squares + difference * difference * a.count * share};
  }

  __device__ static Scale ScaleOf(const Partial&, const Partial& row, int64_t columns) {
    const float variance = row.squares / static_cast<float>(columns);
    return {row.mean, rsqrtf(variance + static_cast<float>(kEpsilon))};
  }

  __device__ static float Finish(float x, const Scale& scale, float gamma, float beta) {
    return fmaf((x - scale.mean) * scale.inverse_deviation, gamma, beta);
  }

  __host__ __device__ static void AddToSums(double x, double* sums) {
    sums[0] += x;
    sums[1] += x * x;
  }

  // In fp64 and for inputs of mean 0 and variance 1 the sum of squares will do.
  __host__ __device__ static double Reference(double x, const double* sums, double columns,
                                              double gamma, double beta) {
    const double mean = sums[0] / columns;
    const double variance = sums[1] / columns - mean * mean;
    return (x - mean) / sqrt((variance > 0 ? variance : 0) + kEpsilon) * gamma + beta;
  }

  static ErrorLimits Limits(const std::string& dtype, int64_t) { return RowErrorLimits(dtype, 1); }
};

}  // namespace

std::unique_ptr<Benchmark> NewLayerNorm() {
  return std::make_unique<RowBenchmark<LayerNormOp>>(
      "layernorm", "layer normalisation of each row, with gamma and beta");
}

}  // namespace assay
