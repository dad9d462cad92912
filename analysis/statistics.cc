#include "analysis/statistics.h"

#include <algorithm>
#include <cmath>

#include "analysis/distributions.h"

namespace assay::analysis {
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
  // The median of two values is their mean, so the wider error of a median does not apply.
  double widening = StudentQuantile(0.975, n - 1) / kHalfInterval;
  if (values.size() > 2) widening *= kMedianToMeanError;
  const double spread = widening * std::sqrt(squares / (n - 1) / n);
  return {MedianOf(values), std::max(spread, MedianOf(errors) / std::sqrt(n))};
}

}  // namespace assay::analysis
