// Finds places that differ from their peers: other places with equal hardware, driver and case.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace assay::analysis {

// The newest runs of one place, at most three, oldest first. See comparison.h for the meaning of a
// value and of a place.
struct PeerRuns {
  size_t place = 0;  // The caller's number.
  std::vector<double> newest;
  // Median of all runs since the last step of the place. Absent if there are fewer than five.
  std::optional<double> level = std::nullopt;
};

struct OutlierRule {
  // The probability that a healthy fleet has an outlier in one case.
  double alpha = 0.01;
  // The smallest deficit that is reported, as a fraction.
  double least_deficit = 0.03;
  size_t least_peers = 6;
  // The standard deviation between healthy places, known from other fleets or learned from this
  // one. It is the lower bound of the estimated spread, because the spread between few places is
  // often too small by chance.
  double prior_spread = 0.02;
};

// The default values of OutlierRule::prior_spread, as fractions.
inline constexpr double kComputeSpread = 0.02;
inline constexpr double kMemorySpread = 0.005;
// From this many places on, the spread is learned.
inline constexpr size_t kPlacesToLearn = 20;

// A place's position among its peers.
struct PeerPosition {
  size_t place = 0;
  double value = 0;   // Its newest run.
  double change = 0;  // Logarithm of its performance over the peers' median.
  double z = 0;       // `change` in standard deviations.
  size_t rank = 0;    // From the slowest, from 1.
  bool slow = false;
  // True if the place is faster than its peers by the same rule, and by at least 10%. Its
  // measurement is then doubtful.
  bool implausible = false;
};

struct PeerAnalysis {
  double median = 0;  // Of all places' newest runs.
  double spread = 0;
  // Sorted from the slowest to the fastest. Empty if there are fewer than rule.least_peers places.
  std::vector<PeerPosition> places;
};

// Compares the newest runs of places. A place is an outlier if its z is beyond the quantile of
// alpha / places and its deficit is at least rule.least_deficit, in two of its newest three runs. A
// place with a single run is judged by that run. If the level of the place is known, it must be
// beyond the same limits, so that a place is not reported for a few slow runs among many.
PeerAnalysis FindOutliers(const std::vector<PeerRuns>& peers, const OutlierRule& rule);

// Returns the spread of places around their median, as a standard deviation (1.4826 MAD), or
// nullopt if there are fewer than kPlacesToLearn places.
std::optional<double> LearnSpread(const std::vector<double>& values);

}  // namespace assay::analysis
