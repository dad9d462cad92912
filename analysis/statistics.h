// Statistics of few repetitions: medians and their standard errors.
#pragma once

#include <optional>
#include <vector>

namespace assay::analysis {

// Half the width of a 95% confidence interval, in standard errors.
inline constexpr double kHalfInterval = 1.96;

// The standard error of a median of normal values over that of their mean: sqrt(pi / 2).
inline constexpr double kMedianToMeanError = 1.2533;

// A measured value with its standard error in the same unit; no error if it is unknown, as for a
// single sample.
struct Estimate {
  double value = 0;
  std::optional<double> error;
};

// Returns the median, which is the mean of the middle two of an even number of values. Returns 0
// without values.
double MedianOf(std::vector<double> values);

// Returns the median of `repetitions`, of which there must be at least one. Its error is the larger
// of two estimates: the spread between repetitions, and the repetitions' own errors. The spread is
// widened by Student's t, so that value +- kHalfInterval errors is a 95% interval.
Estimate CombineRepetitions(const std::vector<Estimate>& repetitions);

}  // namespace assay::analysis
