#include "measure/statistics.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

// Returns the `q`-quantile of the samples. `sorted` must not be empty, and `q` must be in [0, 1].
double Quantile(const std::vector<double>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  if (below + 1 >= sorted.size()) return sorted.back();
  return sorted[below] +
         (position - static_cast<double>(below)) * (sorted[below + 1] - sorted[below]);
}

// Returns which of `n` sorted samples is the lower end of the median's 95% confidence interval,
// counting from 1, or 0 if there are too few samples. The result is the largest k for which
// P(Binomial(n, 1/2) < k) <= 2.5%. Uses logarithms because 2^-n would underflow.
int64_t LowerRank(int64_t n) {
  double log_term = -static_cast<double>(n) * std::log(2.0);
  double cumulative = 0;
  for (int64_t k = 0; k < n / 2; ++k) {
    cumulative += std::exp(log_term);  // Now P(X <= k).
    if (cumulative > 0.025) return k;
    log_term += std::log(static_cast<double>(n - k) / static_cast<double>(k + 1));
  }
  return 0;  // One sample.
}

}  // namespace

double Summary::RelativeConfidence() const {
  return median == 0 ? 0 : (ci_high - ci_low) / 2 / std::fabs(median);
}

double Summary::RelativeNoise() const { return median == 0 ? 0 : 1.4826 * mad / std::fabs(median); }

Summary Summarize(std::vector<double> samples) {
  Summary summary;
  if (samples.empty()) return summary;
  std::sort(samples.begin(), samples.end());
  summary.n = static_cast<int64_t>(samples.size());
  summary.median = Quantile(samples, 0.5);
  summary.p05 = Quantile(samples, 0.05);
  summary.p95 = Quantile(samples, 0.95);
  const auto low = static_cast<size_t>(std::max<int64_t>(LowerRank(summary.n) - 1, 0));
  summary.ci_low = samples[low];
  summary.ci_high = samples[samples.size() - 1 - low];
  for (double& sample : samples) sample = std::fabs(sample - summary.median);
  std::sort(samples.begin(), samples.end());
  summary.mad = Quantile(samples, 0.5);
  return summary;
}

Summary Scaled(Summary summary, double factor) {
  for (double* value : {&summary.median, &summary.mad, &summary.p05, &summary.p95, &summary.ci_low,
                        &summary.ci_high}) {
    *value *= factor;
  }
  return summary;
}

}  // namespace assay
