// Finds places that differ from their peers: other places with equal hardware, driver and case.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace assay::analysis {

// The newest runs of one place, at most three, oldest first; see comparison.h for their meaning.
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
  // The standard deviation between healthy places, which is known from other fleets or learned. The
  // spread between few places is often too small by chance, so this is its lower bound.
  double prior_spread = 0.02;
};

// The default priors, as fractions.
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
  // Faster than its peers by the same rule, and by at least 10%: the measurement is doubtful.
  bool implausible = false;
};

struct PeerAnalysis {
  double median = 0;  // Of all places' newest runs.
  double spread = 0;
  // From the slowest. Empty if there are fewer than rule.least_peers places.
  std::vector<PeerPosition> places;
};

// Compares the newest runs of places. A place is an outlier if its z is beyond the quantile of
// alpha / places and its deficit is large enough, in two of its newest three runs; a place with one
// run is judged by that one. Its level, if known, must be beyond the same limits: this keeps places
// with a few slow runs among many from being named.
PeerAnalysis FindOutliers(const std::vector<PeerRuns>& peers, const OutlierRule& rule);

// Returns the spread of places around their median, as a standard deviation (1.4826 MAD), or
// nullopt if there are fewer than kPlacesToLearn places.
std::optional<double> LearnSpread(const std::vector<double>& values);

}  // namespace assay::analysis
