#include "analysis/statistics.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace assay::analysis {
namespace {

// Returns half the width of a 95% confidence interval of Student's t distribution, in standard
// errors. Values for up to four degrees of freedom come from a table. For more, uses the expansion
// about the normal quantile (Abramowitz and Stegun, 26.7.5), which has an error below 0.3%.
double StudentHalfInterval(size_t freedom) {
  constexpr double kExact[] = {12.706, 4.303, 3.182, 2.776};
  if (freedom <= std::size(kExact)) return kExact[std::max<size_t>(freedom, 1) - 1];
  constexpr double z = kHalfInterval;
  const double first = (z * z * z + z) / 4;
  const double second = (5 * std::pow(z, 5) + 16 * z * z * z + 3 * z) / 96;
  const auto n = static_cast<double>(freedom);
  return z + first / n + second / (n * n);
}

}  // namespace

double MedianOf(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

Estimate CombineRepetitions(const std::vector<Estimate>& repetitions) {
  if (repetitions.size() == 1) return repetitions[0];
  const auto n = static_cast<double>(repetitions.size());
  std::vector<double> values;
  std::vector<double> errors;
  double mean = 0;
  for (const Estimate& one : repetitions) {
    values.push_back(one.value);
    if (one.error) errors.push_back(*one.error);
    mean += one.value / n;
  }
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  // The median of two values is their mean.
  double widening = StudentHalfInterval(values.size() - 1) / kHalfInterval;
  if (values.size() > 2) widening *= kMedianToMeanError;
  const double spread = widening * std::sqrt(squares / (n - 1) / n);
  return {MedianOf(values), std::max(spread, MedianOf(errors) / std::sqrt(n))};
}

}  // namespace assay::analysis
