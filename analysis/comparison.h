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

// The runs of both sides at one place. A place is a GPU, or the set of GPUs or nodes that a job
// used together.
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
  // The confidence interval of `ratio` with confidence 1 - alpha. If `has_interval` is false, there
  // were too few runs to compute it.
  bool has_interval = false;
  double low = 0;
  double high = 0;
  // The probability of a difference at least as large if A and B are equal. 1 if there is no
  // interval.
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
  // The estimated number of additional runs per place and side, or of additional places, that a
  // verdict needs. 0 if unknown.
  size_t missing_count = 0;
};

// Compares the two sides of a case. If at least one place has runs of both sides, only such places
// are used, and each is compared with itself (paired). The method depends on the number of places:
// - With three or more paired places, it is the t interval of the differences between the two
//   medians of each place.
// - Without paired places, but with three or more places on each side, it is Welch's interval of
//   the places' medians.
// - Otherwise, with at least two runs on each side, it is Welch's interval of the runs, and the
//   verdict holds for these places only. At each paired place, the runs of A and B must alternate
//   in time: they must form at least three blocks of successive runs of one side, and the side with
//   fewer runs must have at most two runs per block on average. A B B A alternates, A A B B does
//   not. Runs on different places need not alternate.
Comparison Compare(const std::vector<PlaceRuns>& places, const ComparisonRule& rule);

// Corrects the verdicts of several cases of one comparison for multiple testing. Changes kRegressed
// and kImproved to kInconclusive (missing runs) where the difference is not significant by the
// procedure of Benjamini and Hochberg at rule.alpha.
void AdjustForCount(std::vector<Comparison>& comparisons, const ComparisonRule& rule);

}  // namespace assay::analysis
