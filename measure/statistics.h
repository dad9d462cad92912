// Robust statistics of repeated measurements.
#pragma once

#include <cstdint>
#include <vector>

namespace assay {

struct Summary {
  int64_t n = 0;
  double median = 0;
  double mad = 0;  // Median absolute deviation from the median, unscaled.
  double p05 = 0;  // Linear between the closest ranks (Hyndman & Fan type 7).
  double p95 = 0;
  // 95% confidence interval of the median from order statistics: the number of
  // samples below the median is Binomial(n, 1/2), whatever the distribution. The
  // extremes where there is none.
  double ci_low = 0;
  double ci_high = 0;

  // False below six samples: even the extremes of five hold the median with a
  // probability of 1 - 2 / 2^5 = 93.75% only. Reports then leave the interval out.
  bool HasInterval() const { return n >= 6; }
  // Half the interval's width over the median; 0 if the median is 0.
  double RelativeConfidence() const;
  // 1.4826 * MAD / median, the relative standard deviation of normal noise.
  double RelativeNoise() const;
};

// That of the samples times `factor`, which is positive.
Summary Scaled(Summary summary, double factor);

// Order does not matter. All zero if there are no samples.
Summary Summarize(std::vector<double> samples);

}  // namespace assay
