#include "analysis/comparison.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "analysis/distributions.h"
#include "analysis/statistics.h"

namespace assay::analysis {
namespace {

using Runs = std::vector<TimedValue>;

constexpr size_t kLeastPlaces = 3;
// The minimum number of values for LimitOutliers(), which limits them to within kNormalDeviations
// standard deviations of their median. Fewer values are left unchanged.
constexpr size_t kPlacesToLimit = 6;
constexpr double kNormalDeviations = 3;
// The maximum number of additional runs or places that Advise() recommends. If a verdict needs
// more, Advise() gives no number.
constexpr size_t kMostAdvised = 200;

// A difference with its squared standard error.
struct Difference {
  double value = 0;
  double variance = 0;
  double freedom = 0;
};

// The mean over all places of one side, A or B.
struct SideMean {
  double mean = 0;
  double variance = 0;  // Squared standard error.
  double freedom = 0;
  double run_variance = 0;  // Variance between runs of a place.
};

double MedianOfRuns(const Runs& runs) {
  std::vector<double> values;
  values.reserve(runs.size());
  for (const TimedValue& run : runs) values.push_back(run.value);
  return MedianOf(std::move(values));
}

double MeanOf(const std::vector<double>& values) {
  double mean = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  return mean;
}

double VarianceOf(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double mean = MeanOf(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return squares / static_cast<double>(values.size() - 1);
}

// Returns the average of the places' means, with its variance. All places have equal weight,
// regardless of how many runs they have. The variance is estimated from the differences between
// runs of the same place or, if every place has a single run, from the differences between places.
SideMean MeanOverRuns(const std::vector<const Runs*>& side) {
  SideMean result;
  const auto places = static_cast<double>(side.size());
  double squares = 0;
  double inverse_runs = 0;
  size_t runs = 0;
  std::vector<double> means;
  for (const Runs* place : side) {
    std::vector<double> values;
    for (const TimedValue& run : *place) values.push_back(run.value);
    means.push_back(MeanOf(values));
    squares += VarianceOf(values) * static_cast<double>(values.size() - 1);
    inverse_runs += 1 / static_cast<double>(values.size());
    runs += values.size();
  }
  result.mean = MeanOf(means);
  result.freedom = static_cast<double>(runs - side.size());
  if (runs == side.size()) {
    result.freedom = places - 1;
    squares = VarianceOf(means) * result.freedom;
  }
  if (result.freedom > 0) result.run_variance = squares / result.freedom;
  result.variance = result.run_variance * inverse_runs / (places * places);
  return result;
}

// Clamps values far from the median to the edge of the normal range, so that a single broken GPU or
// node cannot decide the comparison. Does nothing if there are fewer than kPlacesToLimit values.
void LimitOutliers(std::vector<double>& values) {
  if (values.size() < kPlacesToLimit) return;
  const double middle = MedianOf(values);
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::abs(value - middle));
  const double limit = kNormalDeviations * kMadToDeviation * MedianOf(std::move(distances));
  for (double& value : values) value = std::clamp(value, middle - limit, middle + limit);
}

SideMean MeanOverPlaces(const std::vector<const Runs*>& side) {
  std::vector<double> medians;
  for (const Runs* place : side) medians.push_back(MedianOfRuns(*place));
  LimitOutliers(medians);
  const auto places = static_cast<double>(side.size());
  return {MeanOf(medians), VarianceOf(medians) / places, places - 1,
          MeanOverRuns(side).run_variance};
}

Difference Welch(const SideMean& a, const SideMean& b) {
  Difference difference{b.mean - a.mean, a.variance + b.variance, 1};
  const double parts = a.variance * a.variance / std::max(a.freedom, 1.0) +
                       b.variance * b.variance / std::max(b.freedom, 1.0);
  difference.freedom = parts > 0 ? difference.variance * difference.variance / parts
                                 : std::max(a.freedom + b.freedom, 1.0);
  return difference;
}

Difference Paired(const std::vector<const Runs*>& a, const std::vector<const Runs*>& b) {
  std::vector<double> differences;
  for (size_t i = 0; i < a.size(); ++i) {
    differences.push_back(MedianOfRuns(*b[i]) - MedianOfRuns(*a[i]));
  }
  const auto places = static_cast<double>(a.size());
  return {MeanOf(differences), VarianceOf(differences) / places, places - 1};
}

// Returns whether the runs of sides A and B alternate often enough in time. A block is a sequence
// of consecutive runs of one side. There must be at least three blocks, and the side with fewer
// runs must average at most two runs per block.
bool Alternates(const Runs& a, const Runs& b) {
  struct Labelled {
    double time;
    bool is_b;
  };
  std::vector<Labelled> order;
  for (const TimedValue& run : a) order.push_back({run.time, false});
  for (const TimedValue& run : b) order.push_back({run.time, true});
  std::stable_sort(order.begin(), order.end(),
                   [](const Labelled& x, const Labelled& y) { return x.time < y.time; });
  size_t blocks = 0;
  size_t blocks_of_shorter = 0;
  const bool shorter_is_b = b.size() < a.size();
  for (size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && order[i].is_b == order[i - 1].is_b) continue;
    ++blocks;
    blocks_of_shorter += order[i].is_b == shorter_is_b ? 1 : 0;
  }
  return blocks >= 3 && std::min(a.size(), b.size()) <= 2 * blocks_of_shorter;
}

void SetInterval(const Difference& difference, const ComparisonRule& rule, Comparison& result) {
  const double error = std::sqrt(difference.variance);
  const double half = StudentQuantile(1 - rule.alpha / 2, difference.freedom) * error;
  result.has_interval = true;
  result.low = std::exp(difference.value - half);
  result.high = std::exp(difference.value + half);
  if (error > 0) {
    result.p_value = 2 * StudentCdf(-std::abs(difference.value) / error, difference.freedom);
  } else {
    result.p_value = difference.value == 0 ? 1 : 0;
  }
}

ComparisonVerdict Judge(const Comparison& result, const ComparisonRule& rule) {
  if (!result.has_interval) return ComparisonVerdict::kInconclusive;
  const double least = 1 - rule.margin;
  const double most = 1 + rule.margin;
  if (result.low > least && result.high < most) return ComparisonVerdict::kEquivalent;
  if (result.high < 1 && result.ratio <= least) return ComparisonVerdict::kRegressed;
  if (result.low > 1 && result.ratio >= most) return ComparisonVerdict::kImproved;
  return ComparisonVerdict::kInconclusive;
}

// The variances from which Advise() predicts how narrow the confidence interval would be with more
// runs or places.
struct Outlook {
  double between_places = 0;  // Variance of the differences between places, without that of runs.
  double runs_variance = 0;   // Sum of both sides' variances between runs.
  size_t places = 0;
  size_t runs = 0;        // Per place and side.
  double half_width = 0;  // Needed for a verdict.
  double alpha = 0;
};

// Returns the smallest number of runs or places, greater than `from`, that makes the confidence
// interval narrow enough. `at(n)` is the half width of the interval with n of them, and must be at
// most `half_width`. Returns nullopt if this requires more than kMostAdvised additional runs or
// places.
template <typename HalfWidthAt>
std::optional<size_t> SmallestNumber(size_t from, double half_width, const HalfWidthAt& at) {
  size_t low = from;
  size_t high = from + kMostAdvised;
  if (at(high) > half_width) return std::nullopt;
  while (high - low > 1) {
    const size_t middle = (low + high) / 2;
    (at(middle) > half_width ? low : high) = middle;
  }
  return high;
}

double HalfWidth(const Outlook& outlook, double places, double runs, double freedom) {
  return StudentQuantile(1 - outlook.alpha / 2, freedom) *
         std::sqrt((outlook.between_places + outlook.runs_variance / runs) / places);
}

void Advise(const Outlook& outlook, bool over_runs, Comparison& result) {
  const auto places = static_cast<double>(outlook.places);
  const auto runs = static_cast<double>(outlook.runs);
  const auto with_runs = SmallestNumber(outlook.runs, outlook.half_width, [&](size_t n) {
    const auto more = static_cast<double>(n);
    const double freedom = over_runs ? 2 * places * (more - 1) : places - 1;
    return HalfWidth(outlook, places, more, std::max(freedom, 1.0));
  });
  const bool runs_dominate = outlook.runs_variance / runs >= outlook.between_places;
  if (over_runs || (runs_dominate && with_runs)) {
    result.missing = Missing::kRuns;
    if (with_runs) result.missing_count = *with_runs - outlook.runs;
    return;
  }
  result.missing = Missing::kPlaces;
  const auto with_places = SmallestNumber(outlook.places, outlook.half_width, [&](size_t n) {
    return HalfWidth(outlook, static_cast<double>(n), runs, static_cast<double>(n - 1));
  });
  if (with_places) result.missing_count = *with_places - outlook.places;
}

// Returns the half width that the confidence interval must have to give a verdict on `difference`.
double NeededHalfWidth(double difference, double margin) {
  const double size = std::abs(difference);
  const double limit = difference < 0 ? -std::log1p(-margin) : std::log1p(margin);
  return size >= limit ? size : std::min(limit - size, std::log1p(margin) + size);
}

// The runs to compare. Each element of `a` and `b` contains the runs at one place (a GPU, or a set
// of GPUs or nodes). If `paired`, a[i] and b[i] are runs at the same place.
struct Sides {
  std::vector<const Runs*> a;
  std::vector<const Runs*> b;
  bool paired = false;
};

Sides SelectSides(const std::vector<PlaceRuns>& places, Comparison& result) {
  Sides sides;
  for (const PlaceRuns& place : places) {
    result.places_a += place.a.empty() ? 0 : 1;
    result.places_b += place.b.empty() ? 0 : 1;
    result.common_places += place.a.empty() || place.b.empty() ? 0 : 1;
  }
  sides.paired = result.common_places > 0;
  for (const PlaceRuns& place : places) {
    if (sides.paired && (place.a.empty() || place.b.empty())) continue;
    if (!place.a.empty()) sides.a.push_back(&place.a);
    if (!place.b.empty()) sides.b.push_back(&place.b);
    result.runs_a += place.a.size();
    result.runs_b += place.b.size();
  }
  return sides;
}

// Returns the difference between sides A and B, with a standard error estimated from the
// differences between places. Sets the variances in `outlook`.
Difference CompareOverPlaces(const Sides& sides, Outlook& outlook) {
  const SideMean a = MeanOverPlaces(sides.a);
  const SideMean b = MeanOverPlaces(sides.b);
  const Difference difference = sides.paired ? Paired(sides.a, sides.b) : Welch(a, b);
  outlook.runs_variance = a.run_variance + b.run_variance;
  const auto runs = static_cast<double>(outlook.runs);
  if (outlook.runs == 1) outlook.runs_variance = 0;  // Unknown, and part of the variance below.
  const double total = difference.variance * static_cast<double>(outlook.places);
  outlook.between_places = std::max(total - outlook.runs_variance / runs, 0.0);
  return difference;
}

// Returns the difference between sides A and B, with a standard error estimated from the
// differences between runs. Used for fewer than three places. If there are too few runs, or if
// those of A and B do not alternate in time, sets `result.missing` and returns nullopt.
std::optional<Difference> CompareOverRuns(const Sides& sides, Outlook& outlook,
                                          Comparison& result) {
  result.these_places_only = true;
  const size_t least = std::min(result.runs_a, result.runs_b);
  if (least < 2) {
    result.missing = Missing::kRuns;
    result.missing_count = 2 - least;
    return std::nullopt;
  }
  for (size_t i = 0; sides.paired && i < sides.a.size(); ++i) {
    if (Alternates(*sides.a[i], *sides.b[i])) continue;
    result.missing = Missing::kAlternation;
    return std::nullopt;
  }
  const SideMean a = MeanOverRuns(sides.a);
  const SideMean b = MeanOverRuns(sides.b);
  outlook.runs_variance = a.run_variance + b.run_variance;
  return Welch(a, b);
}

}  // namespace

Comparison Compare(const std::vector<PlaceRuns>& places, const ComparisonRule& rule) {
  Comparison result;
  const Sides sides = SelectSides(places, result);
  if (sides.a.empty() || sides.b.empty()) {
    result.missing = Missing::kRuns;
    return result;
  }
  const SideMean a = MeanOverPlaces(sides.a);
  const SideMean b = MeanOverPlaces(sides.b);
  result.ratio = std::exp(b.mean - a.mean);

  Outlook outlook;
  outlook.places = std::min(sides.a.size(), sides.b.size());
  outlook.runs = std::max<size_t>(std::min(result.runs_a, result.runs_b) / outlook.places, 1);
  outlook.alpha = rule.alpha;
  std::optional<Difference> difference;
  const bool over_runs = outlook.places < kLeastPlaces;
  if (over_runs) {
    difference = CompareOverRuns(sides, outlook, result);
  } else {
    difference = CompareOverPlaces(sides, outlook);
  }
  if (!difference) return result;
  result.ratio = std::exp(difference->value);
  SetInterval(*difference, rule, result);
  result.verdict = Judge(result, rule);
  if (result.verdict == ComparisonVerdict::kInconclusive) {
    outlook.half_width = NeededHalfWidth(difference->value, rule.margin);
    Advise(outlook, over_runs, result);
  }
  return result;
}

void AdjustForCount(std::vector<Comparison>& comparisons, const ComparisonRule& rule) {
  std::vector<double> p_values;
  for (const Comparison& one : comparisons) {
    if (one.has_interval) p_values.push_back(one.p_value);
  }
  std::sort(p_values.begin(), p_values.end());
  double limit = -1;
  for (size_t i = 0; i < p_values.size(); ++i) {
    const double share = static_cast<double>(i + 1) / static_cast<double>(p_values.size());
    if (p_values[i] <= share * rule.alpha) limit = p_values[i];
  }
  for (Comparison& one : comparisons) {
    const bool differs =
        one.verdict == ComparisonVerdict::kRegressed || one.verdict == ComparisonVerdict::kImproved;
    if (!differs || one.p_value <= limit) continue;
    one.verdict = ComparisonVerdict::kInconclusive;
    one.missing = Missing::kRuns;
    one.missing_count = 0;
  }
}

}  // namespace assay::analysis
