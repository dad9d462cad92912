// Compares two sides, A and B, of one case: two drivers, two nodes, or two campaigns.
//
// Values are natural logarithms of performance: the logarithm of a run's median, negated if lower
// medians are better. The difference of two values is then the logarithm of a ratio, and positive
// if B is better.
#pragma once

#include <cstddef>
#include <vector>

namespace assay::analysis {

// One run.
struct TimedValue {
  double value = 0;
  double time = 0;  // Seconds, from any origin.
};

// The runs of one place. A place is a GPU, or the GPUs or nodes that a job used together.
struct PlaceRuns {
  std::vector<TimedValue> a;
  std::vector<TimedValue> b;
};

struct ComparisonRule {
  // A difference below this fraction does not matter.
  double margin = 0.02;
  // The probability of a false difference in one comparison.
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
  // The confidence interval of `ratio` at 1 - alpha. If `has_interval` is false, there were too few
  // runs for one.
  bool has_interval = false;
  double low = 0;
  double high = 0;
  // The probability of a difference at least as large if A and B are equal. 1 without an interval.
  double p_value = 1;
  size_t places_a = 0;
  size_t places_b = 0;
  size_t common_places = 0;
  // Only the places that were compared.
  size_t runs_a = 0;
  size_t runs_b = 0;
  // The verdict holds for these places only, because there are fewer than three.
  bool these_places_only = false;
  Missing missing = Missing::kNothing;
  // Estimated number of additional runs per place and side, or of additional places. 0: unknown.
  size_t missing_count = 0;
};

// Compares the two sides of a case.
// - If at least one place has runs on both sides, compares only such places, each with itself: the
//   t interval of the differences between a place's medians, if there are three places or more.
// - Otherwise, if each side has three places or more: Welch's interval over the places' medians.
// - Otherwise, with at least two runs on each side: Welch's interval over runs, and the verdict
//   holds for these places only. It needs runs of A and B that alternate in time: at each place,
//   three blocks of runs of one side or more, and at most two runs in a block on average for the
//   side with fewer runs. A B B A alternates, A A B B does not. Runs on different places need not
//   alternate.
Comparison Compare(const std::vector<PlaceRuns>& places, const ComparisonRule& rule);

// Makes verdicts of several cases of one comparison hold together: turns kRegressed and kImproved
// into kInconclusive (missing runs) where the difference is not significant by the procedure of
// Benjamini and Hochberg at rule.alpha.
void AdjustForCount(std::vector<Comparison>& comparisons, const ComparisonRule& rule);

}  // namespace assay::analysis
