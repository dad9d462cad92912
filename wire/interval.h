// The confidence interval of a measured median, as every part that shows, stores or filters
// results reads it.
#pragma once

#include <cmath>
#include <optional>

#include "assay/v1/result.pb.h"

namespace assay::schema {

// Fewest samples whose median has a 95% interval of order statistics: of five, even the
// extremes enclose it with a probability of 1 - 2 / 2^5 = 93.75% only.
inline constexpr int kLeastSamplesOfInterval = 6;

// False too for what another program measured: its single numbers have none.
inline bool HasInterval(const v1::Measurement& measurement) {
  return measurement.n() >= kLeastSamplesOfInterval;
}

// Half of the interval's width over the median. Absent without an interval, or if the
// median is 0.
inline std::optional<double> Uncertainty(const v1::Measurement& measurement) {
  if (!HasInterval(measurement) || measurement.median() == 0) return std::nullopt;
  return (measurement.ci_high() - measurement.ci_low()) / 2 / std::fabs(measurement.median());
}

}  // namespace assay::schema
