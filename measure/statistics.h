// Robust statistics of repeated measurements.
#pragma once

#include <cstdint>
#include <vector>

namespace assay {

struct Summary {
  int64_t n = 0;
  double median = 0;
  double mad = 0;  // Median absolute deviation from the median, unscaled.
  double p05 = 0;  // Interpolated linearly between the closest ranks (Hyndman & Fan type 7).
  double p95 = 0;
  // The 95% confidence interval of the median. Both ends are samples, chosen by rank. The interval
  // is valid for any distribution of the samples, because the number of samples below the true
  // median is Binomial(n, 1/2). If HasInterval() is false, ci_low and ci_high are the smallest and
  // largest samples.
  double ci_low = 0;
  double ci_high = 0;

  // Returns true if there are at least six samples. With fewer, the median has no 95% confidence
  // interval, because even the full range of five samples contains it with a probability of only
  // 93.75% (1 - 2 / 2^5). In that case, reports omit the interval.
  bool HasInterval() const { return n >= 6; }
  // Returns half the interval's width, relative to the median, or 0 if the median is 0.
  double RelativeConfidence() const;
  // Returns 1.4826 * MAD / median, where MAD is the median absolute deviation. For normally
  // distributed noise, this is its relative standard deviation.
  double RelativeNoise() const;
};

// Returns the summary of the samples multiplied by `factor`, which must be positive.
Summary Scaled(Summary summary, double factor);

// Summarizes samples in any order. All fields are zero if there are no samples.
Summary Summarize(std::vector<double> samples);

}  // namespace assay
