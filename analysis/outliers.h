// Finds places that differ from their peers: other places with equal hardware, driver and case.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace assay::analysis {

// The newest runs of one place (a GPU, or a set of GPUs or nodes), at most three, oldest first.
// Values are logarithms, as in comparison.h.
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
  // The standard deviation between healthy places (GPUs or nodes), known from other fleets or
  // learned from this one. It is a lower bound for the estimated deviation, because the deviation
  // between just a few places is often too small by chance.
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
  // True if the place is so much faster than its peers that its measurement is doubtful: by at
  // least 10%, and by more than chance explains.
  bool implausible = false;
};

struct PeerAnalysis {
  double median = 0;  // Of all places' newest runs.
  double spread = 0;
  // Sorted from the slowest to the fastest. Empty if there are fewer than rule.least_peers places.
  std::vector<PeerPosition> places;
};

// Compares places (GPUs or nodes) by their newest runs. A place is slow if at least two of its
// three newest runs are slow: below the median by rule.least_deficit, and by more than chance
// explains (see rule.alpha). A place with a single run is judged by that run.
// If the level of the place (its median over more runs) is known, it must be just as low, so that a
// few slow runs among many do not make a place slow.
PeerAnalysis FindOutliers(const std::vector<PeerRuns>& peers, const OutlierRule& rule);

// Returns the spread of `values` around their median, as a standard deviation: 1.4826 times the
// median absolute deviation. Returns nullopt if there are fewer than kPlacesToLearn values.
std::optional<double> LearnSpread(const std::vector<double>& values);

}  // namespace assay::analysis
