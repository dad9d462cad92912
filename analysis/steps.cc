#include "analysis/steps.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/distributions.h"
#include "analysis/statistics.h"

namespace assay::analysis {
namespace {

using Values = std::span<const double>;

constexpr double kPermutationLevel = 0.01;
// The significance level of candidates (possible steps). It is more lenient than that of steps,
// because two steps in opposite directions hide each other until both are known. Once all
// candidates are known, MergeWeak() removes the weak ones.
constexpr double kWeakLevel = 10 * kPermutationLevel;
constexpr int kPermutations = 199;
constexpr double kWelchLevel = 1e-3;
// A step must be found twice: with and without the newest value. The two results are considered the
// same step if their positions differ by at most this many values.
constexpr size_t kSamePlace = 2;
// The distance between the 10th and 90th percentiles of a normal distribution, in standard
// deviations.
constexpr double kDecilesApart = 2.563;
// The minimum size of a change in performance, as a multiple of the spread (standard deviation) of
// the values. A change of at least kClearChange spreads, with at least kClearRuns runs on each
// side, needs no further test.
constexpr double kLeastSpreads = 2;
constexpr double kClearChange = 5;
constexpr size_t kClearRuns = 6;
constexpr double kSuspectLevel = 1e-4;
constexpr double kLeastDeviation = 0.01;
constexpr size_t kLeastSegment = 10;
// The accepted probability that reruns confirm a change that does not exist, if all kMostReruns
// reruns have been made. For every three reruns fewer, it is divided by 10.
constexpr double kConfirmLevel = 1e-4;
// One of this many reruns may fail to repeat the change.
constexpr size_t kRerunsPerException = 8;

// The random number generator SplitMix64 (Steele, Lea and Flood 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  // Returns a number below `limit`, which must be below 2^32.
  size_t Below(size_t limit) { return static_cast<size_t>(((Next() >> 32) * limit) >> 32); }

 private:
  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  uint64_t state_;
};

double Median(Values values) { return MedianOf({values.begin(), values.end()}); }

// Returns a percentile of sorted values, with linear interpolation.
double Percentile(const std::vector<double>& sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

struct Moments {
  double mean = 0;
  double variance = 0;  // Unbiased. 0 for fewer than two values.
};

Moments MomentsOf(Values values) {
  Moments moments;
  const auto n = static_cast<double>(values.size());
  for (const double value : values) moments.mean += value / n;
  if (values.size() < 2) return moments;
  for (const double value : values) {
    moments.variance += (value - moments.mean) * (value - moments.mean) / (n - 1);
  }
  return moments;
}

struct Split {
  size_t at = 0;  // Index of the first value of the right part. 0: none.
  double statistic = 0;
};

// A search for the best position at which to split a segment of a history in two, using the energy
// statistic of Matteson and James with alpha 1.
class EnergySplitter {
 public:
  explicit EnergySplitter(Values segment) : n_(segment.size()) {
    for (size_t i = 0; i < n_; ++i) {
      order_[i] = static_cast<uint8_t>(i);
      for (size_t j = 0; j < n_; ++j) distance_[i][j] = std::abs(segment[i] - segment[j]);
    }
    for (size_t i = 0; i < n_; ++i) {
      for (size_t j = 0; j < n_; ++j) to_all_[i] += distance_[i][j];
      total_ += to_all_[i] / 2;
    }
  }

  // Returns the best split of the values in their present order.
  Split Best() const {
    Split best;
    double left = 0;  // Sum of the distances between values of the left part.
    double right = total_;
    for (size_t at = 1; at + kSegmentRuns <= n_; ++at) {
      // Moves one value to the left part.
      const auto& row = distance_[order_[at - 1]];
      double to_left = 0;
      for (size_t i = 0; i + 1 < at; ++i) to_left += row[order_[i]];
      left += to_left;
      right -= to_all_[order_[at - 1]] - to_left;
      if (at < kSegmentRuns) continue;
      const auto n = static_cast<double>(at);
      const auto m = static_cast<double>(n_ - at);
      const double between = (total_ - left - right) * 2 / (n * m);
      const double within = left * 2 / (n * (n - 1)) + right * 2 / (m * (m - 1));
      const double statistic = n * m / (n + m) * (between - within);
      if (best.at == 0 || statistic > best.statistic) best = {at, statistic};
    }
    return best;
  }

  // Returns whether at most the share `level` of random orders have a split as good as `statistic`.
  bool IsSignificant(double statistic, double level, Random& random) {
    const auto most = static_cast<int>(level * (kPermutations + 1) + 1e-9) - 1;
    // The same sum in another order can differ by a rounding error.
    const double least = statistic * (1 - 1e-9);
    int as_good = 0;
    for (int i = 0; i < kPermutations && as_good <= most; ++i) {
      for (size_t j = n_ - 1; j > 0; --j) std::swap(order_[j], order_[random.Below(j + 1)]);
      as_good += Best().statistic >= least ? 1 : 0;
    }
    return as_good <= most;
  }

 private:
  size_t n_;
  std::array<std::array<double, kStepWindow>, kStepWindow> distance_;
  std::array<double, kStepWindow> to_all_{};
  std::array<uint8_t, kStepWindow> order_;
  double total_ = 0;
};

// Finds the candidates (possible steps) in a segment of a history and appends their positions to
// `found` in ascending order. `first` is the position of the segment's first value.
void SplitSegment(Values segment, size_t first, Random& random, std::vector<size_t>& found) {
  if (segment.size() < 2 * kSegmentRuns) return;
  EnergySplitter splitter(segment);
  const Split best = splitter.Best();
  if (best.statistic <= 0) return;
  if (!splitter.IsSignificant(best.statistic, kWeakLevel, random)) return;
  SplitSegment(segment.first(best.at), first, random, found);
  found.push_back(first + best.at);
  SplitSegment(segment.subspan(best.at), first + best.at, random, found);
}

// Returns the autocorrelation at lag 1 of the residuals of two segments, or 0 if it is negative.
double Autocorrelation(Values left, double left_mean, Values right, double right_mean) {
  double products = 0;
  double squares = 0;
  const auto add = [&](Values values, double mean) {
    for (size_t i = 0; i < values.size(); ++i) {
      squares += (values[i] - mean) * (values[i] - mean);
      if (i > 0) products += (values[i] - mean) * (values[i - 1] - mean);
    }
  };
  add(left, left_mean);
  add(right, right_mean);
  return squares > 0 ? std::clamp(products / squares, 0.0, 0.99) : 0;
}

// Returns the p value of Welch's t test of two segments. To correct for their autocorrelation rho,
// treats n values as only n (1 - rho) / (1 + rho) independent ones.
double WelchPValue(Values left, Values right) {
  const Moments x = MomentsOf(left);
  const Moments y = MomentsOf(right);
  const double rho = Autocorrelation(left, x.mean, right, y.mean);
  const double factor = (1 - rho) / (1 + rho);
  const double n = std::max(static_cast<double>(left.size()) * factor, 2.0);
  const double m = std::max(static_cast<double>(right.size()) * factor, 2.0);
  const double vx = x.variance / n;
  const double vy = y.variance / m;
  if (vx + vy <= 0) return x.mean == y.mean ? 1 : 0;
  const double freedom = (vx + vy) * (vx + vy) / (vx * vx / (n - 1) + vy * vy / (m - 1));
  return 2 * StudentCdf(-std::abs(x.mean - y.mean) / std::sqrt(vx + vy), freedom);
}

// Returns the difference between the medians of two segments, as a multiple of the spread (standard
// deviation) of the values around these medians. Returns 0 if the difference is below
// rule.least_change.
double ChangeInSpreads(Values left, Values right, const StepRule& rule) {
  const double before = Median(left);
  const double after = Median(right);
  const double change = std::abs(after - before);
  if (change < rule.least_change) return 0;
  std::vector<double> residuals;
  for (const double value : left) residuals.push_back(value - before);
  for (const double value : right) residuals.push_back(value - after);
  std::sort(residuals.begin(), residuals.end());
  const double spread = (Percentile(residuals, 0.9) - Percentile(residuals, 0.1)) / kDecilesApart;
  return spread > 0 ? change / spread : kClearChange;
}

// Returns the p value of a candidate (a possible step) between two segments. Returns 1 if the
// change is too small for a step.
double CandidatePValue(Values left, Values right, const StepRule& rule) {
  const double spreads = ChangeInSpreads(left, right, rule);
  // Noise cannot explain such a clear change, so skip Welch's test. The test might reject the
  // change if there is another, smaller shift within a segment, mistaking that shift for
  // autocorrelation.
  if (spreads >= kClearChange && std::min(left.size(), right.size()) >= kClearRuns) return 0;
  return spreads >= kLeastSpreads ? WelchPValue(left, right) : 1;
}

// Removes the weakest candidate from `splits` until all remaining candidates are steps.
void MergeWeak(Values values, const StepRule& rule, Random& random, std::vector<size_t>& splits) {
  const auto from = [&](size_t i) { return i == 0 ? 0 : splits[i - 1]; };
  const auto to = [&](size_t i) { return i + 1 == splits.size() ? values.size() : splits[i + 1]; };
  while (!splits.empty()) {
    size_t weakest = splits.size();
    double highest = kWelchLevel;
    for (size_t i = 0; i < splits.size(); ++i) {
      const double p = CandidatePValue(values.subspan(from(i), splits[i] - from(i)),
                                       values.subspan(splits[i], to(i) - splits[i]), rule);
      if (p < highest) continue;
      highest = p;
      weakest = i;
    }
    for (size_t i = 0; i < splits.size() && weakest == splits.size(); ++i) {
      EnergySplitter splitter(values.subspan(from(i), to(i) - from(i)));
      const Split best = splitter.Best();
      if (!splitter.IsSignificant(best.statistic, kPermutationLevel, random)) weakest = i;
    }
    if (weakest == splits.size()) return;
    splits.erase(splits.begin() + static_cast<std::ptrdiff_t>(weakest));
  }
}

// Returns whether the values are obviously too steady to contain a step, because the medians of all
// sets of five consecutive values differ too little. This quick check avoids the slow search in
// steady histories.
bool IsSteady(Values values, const StepRule& rule) {
  double low = 0;
  double high = 0;
  for (size_t i = 0; i + kSegmentRuns <= values.size(); ++i) {
    std::array<double, kSegmentRuns> five;
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(i), kSegmentRuns, five.begin());
    std::nth_element(five.begin(), five.begin() + kSegmentRuns / 2, five.end());
    const double median = five[kSegmentRuns / 2];
    low = i == 0 ? median : std::min(low, median);
    high = i == 0 ? median : std::max(high, median);
  }
  return high - low < rule.least_change;
}

// Returns the index of the first value of each step (lasting change) in the newest kStepWindow
// values. FindSteps() must still check that each step is also found without the newest value.
std::vector<size_t> LookOnce(Values history, const StepRule& rule, uint64_t seed) {
  const size_t skipped = history.size() - std::min(history.size(), kStepWindow);
  const Values values = history.subspan(skipped);
  std::vector<size_t> splits;
  if (values.size() < 2 * kSegmentRuns || IsSteady(values, rule)) return splits;
  Random random(seed ^ (history.size() * 0x9e3779b97f4a7c15));
  SplitSegment(values, 0, random, splits);
  MergeWeak(values, rule, random, splits);
  for (size_t& split : splits) split += skipped;
  return splits;
}

enum class RerunVerdict { kUnclear, kChanged, kUnchanged };

// Returns the amount by which the mean of reruns may differ by chance from that of the earlier
// values in `segment`. If nothing has changed, the difference exceeds this amount only with the
// probability that kConfirmLevel allows for this number of reruns. Assumes that the reruns are as
// autocorrelated as the segment.
double NoiseLimit(const std::vector<double>& segment, const Moments& expected, size_t reruns) {
  if (segment.size() < 2) return 0;
  const auto values = static_cast<double>(segment.size());
  const double measured = Autocorrelation(segment, expected.mean, {}, 0);
  // The estimate is too small by about (1 + 3 rho) / n (Kendall 1954).
  const double rho = std::min(measured + (1 + 3 * measured) / values, 0.9);
  const double factor = (1 - rho) / (1 + rho);
  const double n = std::max(values * factor, 2.0);
  const double k = static_cast<double>(reruns) * factor;
  const double missing = static_cast<double>(kMostReruns) - static_cast<double>(reruns);
  const double level = kConfirmLevel * std::pow(10, -std::max(missing, 0.0) / 3);
  return StudentQuantile(1 - level, n - 1) * std::sqrt(expected.variance * (1 / n + 1 / k));
}

// Judges whether reruns repeat a change in performance.
// - kUnchanged: The mean of the reruns differs from that of the earlier runs by less than half of
//   the change, or even kMostReruns reruns do not meet the conditions of kChanged.
// - kChanged: There are enough reruns, nearly all of them repeat half of the change, and noise
//   cannot explain the difference of the means. Nearly all must repeat it, because some runs of a
//   case may be slow anyway, even if none of the earlier ones were.
RerunVerdict JudgeReruns(double change, const RerunEvidence& evidence) {
  const std::vector<double>& reruns = evidence.reruns;
  if (reruns.size() < kReruns) return RerunVerdict::kUnclear;
  const Moments expected = MomentsOf(evidence.segment);
  const double sign = change < 0 ? -1 : 1;
  const double half = std::abs(change) / 2;
  const double shift = sign * (MomentsOf(reruns).mean - expected.mean);
  if (shift < half) return RerunVerdict::kUnchanged;
  const auto exceptions = std::count_if(reruns.begin(), reruns.end(), [&](double value) {
    return sign * (value - expected.mean) < half;
  });
  if (reruns.size() >= kConfirmingReruns &&
      static_cast<size_t>(exceptions) <= reruns.size() / kRerunsPerException &&
      shift > NoiseLimit(evidence.segment, expected, reruns.size())) {
    return RerunVerdict::kChanged;
  }
  return reruns.size() < kMostReruns ? RerunVerdict::kUnclear : RerunVerdict::kUnchanged;
}

}  // namespace

std::vector<Step> FindSteps(std::span<const double> values, const StepRule& rule, uint64_t seed) {
  std::vector<Step> steps;
  const std::vector<size_t> now = LookOnce(values, rule, seed);
  if (now.empty()) return steps;
  const std::vector<size_t> earlier = LookOnce(values.first(values.size() - 1), rule, seed);
  std::vector<size_t> firsts;
  for (const size_t split : now) {
    const bool same = std::any_of(earlier.begin(), earlier.end(), [&](size_t other) {
      return std::max(split, other) - std::min(split, other) <= kSamePlace;
    });
    if (same) firsts.push_back(split);
  }
  const size_t window = values.size() - std::min(values.size(), kStepWindow);
  for (size_t i = 0; i < firsts.size(); ++i) {
    const size_t from = i == 0 ? window : firsts[i - 1];
    const size_t to = i + 1 == firsts.size() ? values.size() : firsts[i + 1];
    steps.push_back({firsts[i], Median(values.subspan(from, firsts[i] - from)),
                     Median(values.subspan(firsts[i], to - firsts[i]))});
  }
  return steps;
}

std::optional<Deviation> JudgeNewest(std::span<const double> segment, double noise) {
  if (segment.size() < kLeastSegment + 1) return std::nullopt;
  const Values earlier = segment.first(segment.size() - 1);
  const Moments moments = MomentsOf(earlier);
  Deviation deviation;
  deviation.change = segment.back() - moments.mean;
  if (deviation.change > -std::max(kLeastDeviation, 3 * noise)) return deviation;
  const auto n = static_cast<double>(earlier.size());
  const double error = std::sqrt(moments.variance * (1 + 1 / n));
  deviation.suspect = -deviation.change > StudentQuantile(1 - kSuspectLevel / 2, n - 1) * error;
  return deviation;
}

Confirmation Confirm(double change, const RerunEvidence& place, const RerunEvidence* peer) {
  switch (JudgeReruns(change, place)) {
    case RerunVerdict::kUnclear:
      return Confirmation::kRerunPlace;
    case RerunVerdict::kUnchanged:
      return Confirmation::kCleared;
    case RerunVerdict::kChanged:
      break;
  }
  if (peer == nullptr) return Confirmation::kNoPeer;
  switch (JudgeReruns(change, *peer)) {
    case RerunVerdict::kUnclear:
      return Confirmation::kRerunPeer;
    case RerunVerdict::kUnchanged:
      return Confirmation::kPlaceOnly;
    case RerunVerdict::kChanged:
      break;
  }
  return Confirmation::kFleet;
}

}  // namespace assay::analysis
