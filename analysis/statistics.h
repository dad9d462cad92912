// Statistics of few repetitions: medians and their standard errors.
#pragma once

#include <optional>
#include <vector>

namespace assay::analysis {

// Half the width of a 95% confidence interval, in standard errors.
inline constexpr double kHalfInterval = 1.96;

// The ratio of the standard error of a median to that of a mean, for normal values: sqrt(pi / 2).
inline constexpr double kMedianToMeanError = 1.2533;

// The ratio of the standard deviation of normal values to their median absolute deviation.
inline constexpr double kMadToDeviation = 1.4826;

// A measured value and its standard error, in the same unit. `error` is nullopt if unknown, for
// example because there is only one sample.
struct Estimate {
  double value = 0;
  std::optional<double> error;
};

// Returns the median of `values`: the mean of the two middle values if their number is even, and 0
// if there are none.
double MedianOf(std::vector<double> values);

// Returns the median of one or more repetitions of a measurement, with its standard error. The
// error is the larger of two estimates: one from the errors of the repetitions, the other from the
// spread between them. The spread of a few repetitions is uncertain, so the second estimate is
// enlarged by Student's t. Then value +- kHalfInterval * error is a 95% confidence interval.
Estimate CombineRepetitions(const std::vector<Estimate>& repetitions);

}  // namespace assay::analysis
