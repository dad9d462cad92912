// Layer normalization of a row, shared by layernorm and layernorm_linear: y = (x - mean) /
// sqrt(variance + 1e-5) * gamma + beta, using the row's mean and biased variance (Ba, Kiros, Hinton
// 2016).
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "kernels/cuda/rows/row_case.cuh"

namespace assay {

struct LayerNormOp {
  static constexpr double kEpsilon = 1e-5;
  static constexpr int kWeights = 2;

  // Statistics of a set of elements: their number, their mean, and the sum of their squared
  // differences from the mean. A plain sum of squares would lose precision if the mean were large.
  struct Partial {
    float count;
    float mean;
    float squares;
  };
  // The numbers that normalize an element as x * inverse_deviation + offset. Here, x is the value
  // that Summarise() stores: the element's difference from the mean of its group of lanes.
  struct Scale {
    float inverse_deviation;
    float offset;
  };

  __device__ static Partial None() { return {0, 0, 0}; }

  // Replaces each x with its difference from the mean of the elements held by this group of lanes,
  // and returns the statistics of these elements. If all elements are equal, the differences are
  // exactly 0.
  template <typename Piece>
  __device__ static Partial Summarise(float (&x)[Piece::kElements], const Piece& piece) {
    piece.ClearNeighbors(x);
    float sum = 0;
#pragma unroll
    for (int i = 0; i < Piece::kElements; ++i) sum += x[i];
    const auto count = static_cast<float>(piece.Count());
    const float mean = Divide(piece.Sum(sum), count);
#pragma unroll
    for (int i = 0; i < Piece::kElements; ++i) x[i] -= mean;
    piece.SetOutside(x, 0);
    float squares = 0;
#pragma unroll
    for (int i = 0; i < Piece::kElements; ++i) squares = fmaf(x[i], x[i], squares);
    return {count, mean, piece.Sum(squares)};
  }

  // Merges the statistics of kLanes neighboring lanes, each of which has its own set of elements.
  // Because the means of the sets differ from the common mean, adds count * difference^2 to each
  // sum of squared differences, where `difference` is the distance between them.
  template <int kLanes>
  __device__ static Partial Merge(Partial partial) {
    const float count = SumLanes<kLanes>(partial.count);
    const float mean = Divide(SumLanes<kLanes>(partial.count * partial.mean), count);
    const float difference = partial.mean - mean;
    return {count, mean,
            SumLanes<kLanes>(fmaf(partial.count * difference, difference, partial.squares))};
  }

  // Merges the statistics of two sets of elements (Chan, Golub, LeVeque: "Updating formulae and a
  // pairwise algorithm for computing sample variances", 1979).
  __device__ static Partial Combine(Partial a, Partial b) {
    const float count = a.count + b.count;
    const float share = Divide(b.count, count);
    const float difference = b.mean - a.mean;
    return {count, fmaf(difference, share, a.mean),
            a.squares + b.squares + difference * difference * a.count * share};
  }

  __device__ static Scale ScaleOf(const Partial& own, const Partial& row, int64_t columns) {
    const float variance = __fdividef(row.squares, static_cast<float>(columns));
    const float inverse_deviation = rsqrtf(variance + static_cast<float>(kEpsilon));
    return {inverse_deviation, (own.mean - row.mean) * inverse_deviation};
  }

  __device__ static float Finish(float x, const Scale& scale, float gamma, float beta) {
    return fmaf(fmaf(x, scale.inverse_deviation, scale.offset), gamma, beta);
  }

  __host__ __device__ static void AddToSums(double x, double* sums) {
    sums[0] += x;
    sums[1] += x * x;
  }

  // Returns the reference for one element. The variance is computed from the sum of squares, which
  // is accurate enough in fp64 for inputs with mean 0 and variance 1.
  __host__ __device__ static double Reference(double x, const double* sums, double columns,
                                              double gamma, double beta) {
    const double mean = sums[0] / columns;
    const double variance = sums[1] / columns - mean * mean;
    return (x - mean) / sqrt((variance > 0 ? variance : 0) + kEpsilon) * gamma + beta;
  }

  static ErrorLimits Limits(const std::string& dtype, int64_t) { return RowErrorLimits(dtype, 1); }

 private:
  // Returns 0 as the mean of no elements.
  __device__ static float Divide(float sum, float count) {
    return count > 0 ? __fdividef(sum, count) : 0;
  }
};

}  // namespace assay
