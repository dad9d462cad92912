// The confidence interval of a measured median.
#pragma once

#include <cmath>
#include <optional>

#include "assay/v1/result.pb.h"

namespace assay::schema {

// The smallest sample whose order statistics give a 95% interval of the median. With five samples
// even the extremes enclose the median with a probability of only 1 - 2 / 2^5 = 93.75%.
inline constexpr int kLeastSamplesOfInterval = 6;

// Also false for the single numbers that another program measured.
inline bool HasInterval(const v1::Measurement& measurement) {
  return measurement.n() >= kLeastSamplesOfInterval;
}

// Returns half of the interval's width over the median. Nullopt without an interval, and for a
// median of 0.
inline std::optional<double> Uncertainty(const v1::Measurement& measurement) {
  if (!HasInterval(measurement) || measurement.median() == 0) return std::nullopt;
  return (measurement.ci_high() - measurement.ci_low()) / 2 / std::fabs(measurement.median());
}

}  // namespace assay::schema
