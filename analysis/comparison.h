// Compares the performance of a benchmark case on two sides, A and B, which are two drivers, two
// nodes, or two campaigns (batches of benchmark jobs).
//
// Values are logarithms: the natural logarithm of a run's median, negated if lower medians are
// better. The value of B minus that of A is therefore the logarithm of a ratio, and is positive if
// B is better.
#pragma once

#include <cstddef>
#include <vector>

namespace assay::analysis {

// One run.
struct TimedValue {
  double value = 0;
  double time = 0;  // Seconds, from any origin.
};

// The runs of both sides at one place: a GPU, or the set of GPUs or nodes that a job used together.
struct PlaceRuns {
  std::vector<TimedValue> a;
  std::vector<TimedValue> b;
};

struct ComparisonRule {
  // Differences below this fraction are considered irrelevant.
  double margin = 0.02;
  // The probability that one comparison finds a difference although there is none.
  double alpha = 0.01;
};

enum class ComparisonVerdict { kEquivalent, kRegressed, kImproved, kInconclusive };

enum class Missing {
  kNothing,
  kRuns,         // More runs per place.
  kPlaces,       // More places.
  kAlternation,  // Runs of A and B that alternate in time.
};

struct Comparison {
  ComparisonVerdict verdict = ComparisonVerdict::kInconclusive;
  double ratio = 1;  // Performance of B over that of A.
  // True if there were enough suitable runs to compute the confidence interval of `ratio`, from
  // `low` to `high`. The confidence level is 1 - ComparisonRule::alpha.
  bool has_interval = false;
  double low = 0;
  double high = 0;
  // The probability of a difference at least as large as the measured one if A and B are in fact
  // equal, or 1 if there is no confidence interval.
  double p_value = 1;
  size_t places_a = 0;
  size_t places_b = 0;
  size_t common_places = 0;
  // Numbers of runs on each side, at the places that were compared.
  size_t runs_a = 0;
  size_t runs_b = 0;
  // True if the verdict holds for the compared places only, because there are fewer than three.
  bool these_places_only = false;
  Missing missing = Missing::kNothing;
  // The estimated number of additional runs (per place and side) or places needed for a verdict, or
  // 0 if unknown. `missing` indicates which of the two.
  size_t missing_count = 0;
};

// Compares the two sides of a case. If some places (GPUs or nodes) have runs of both sides, uses
// only those and compares each with itself. The confidence interval comes from
// - a paired t test of the places' medians, if there are at least three such places;
// - Welch's t test of the places' medians, if there are none, but at least three on each side;
// - Welch's t test of single runs otherwise, at least two per side. The verdict then holds for
//   these places only. Runs of both sides at one place must alternate in time, such as A B B A.
Comparison Compare(const std::vector<PlaceRuns>& places, const ComparisonRule& rule);

// Corrects the verdicts of several cases for multiple testing, using the Benjamini-Hochberg
// procedure at rule.alpha. Verdicts of kRegressed or kImproved that turn out not to be significant
// become kInconclusive (missing runs).
void AdjustForCount(std::vector<Comparison>& comparisons, const ComparisonRule& rule);

}  // namespace assay::analysis
