// The confidence interval of a measured median.
#pragma once

#include <cmath>
#include <optional>

#include "assay/v1/result.pb.h"

namespace assay::schema {

// Minimum number of samples for a 95% confidence interval of the median, based on order statistics.
// With only five samples, even the interval from the minimum to the maximum contains the median
// with a probability of only 1 - 2 / 2^5 = 93.75%.
inline constexpr int kLeastSamplesOfInterval = 6;

// Returns whether a measurement has a confidence interval. Imported single numbers have none.
inline bool HasInterval(const v1::Measurement& measurement) {
  return measurement.n() >= kLeastSamplesOfInterval;
}

// Returns the relative uncertainty of a median: half the width of its confidence interval divided
// by the median. Returns nullopt if there is no interval or the median is 0.
inline std::optional<double> Uncertainty(const v1::Measurement& measurement) {
  if (!HasInterval(measurement) || measurement.median() == 0) return std::nullopt;
  return (measurement.ci_high() - measurement.ci_low()) / 2 / std::fabs(measurement.median());
}

}  // namespace assay::schema
