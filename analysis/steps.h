// Finds the points in a history at which a benchmark case became slower or faster, and runs that
// deviate from the history. A history is the list of one case's values on the same GPUs or nodes,
// oldest first. Values are logarithms, as in comparison.h.
//
// For the method and its error rates on simulated noise, see docs/concepts/verdicts.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace assay::analysis {

// A step: from the value with index `first` on, the values have another level.
struct Step {
  size_t first = 0;   // Index of the first value after the step.
  double before = 0;  // Median since the step before, or since the beginning of the window.
  double after = 0;   // Median up to the next step.

  double change() const { return after - before; }
};

// Only the newest values of a history are searched.
inline constexpr size_t kStepWindow = 50;
// A step needs this many values on each side.
inline constexpr size_t kSegmentRuns = 5;

struct StepRule {
  // The smallest change that is reported, as a logarithm. A change must also be twice the spread.
  double least_change = 0.02;
};

// Returns the steps (lasting changes in performance) in the newest kStepWindow values, oldest
// first. To avoid false alarms, a step must also be found (at most two positions away) when the
// newest value is omitted.
// Finds candidates by E-divisive (Matteson and James 2014) with permutation tests, whose random
// numbers depend only on `seed` and the number of values. Confirms the candidates by Welch's t
// test, corrected for autocorrelation.
std::vector<Step> FindSteps(std::span<const double> values, const StepRule& rule, uint64_t seed);

// The difference between the newest value of a history and the values before it.
struct Deviation {
  double change = 0;  // Newest value minus the mean of the segment.
  // True if the value is so much slower than earlier ones that reruns should confirm the change: by
  // more than chance explains (p = 1e-4), by at least 1%, and by at least three times the noise of
  // a run.
  bool suspect = false;
};

// Compares the newest value of `segment` with the values before it. `segment` holds all values
// since the last step (lasting change). `noise` is the typical uncertainty of one run, as a
// fraction. Returns nullopt if there are fewer than ten earlier values.
std::optional<Deviation> JudgeNewest(std::span<const double> segment, double noise);

// The evidence about a change: the segment of values that preceded the change, and reruns after it.
struct RerunEvidence {
  std::vector<double> segment;
  std::vector<double> reruns;
};

// The numbers of reruns of a suspected change: kReruns are enough to dismiss it, kConfirmingReruns
// are enough to confirm it, and kMostReruns must decide. Three slow reruns do not confirm a change:
// if a case has always been slow in 30% of its runs, the probability of three slow reruns is 3%.
inline constexpr size_t kReruns = 3;
inline constexpr size_t kConfirmingReruns = 5;
inline constexpr size_t kMostReruns = 9;

enum class Confirmation {
  kRerunPlace,  // Rerun the case at the place.
  kRerunPeer,   // The place is confirmed. Rerun the case at the peer.
  kCleared,     // The reruns are as fast as the segment.
  kPlaceOnly,   // The place is slower, the peer is not.
  kFleet,       // The peer is slower too, than its own segment.
  kNoPeer,      // The place is slower, and there is no peer.
};

// Decides what to do next about a suspected change (negative: slower) at a place (a GPU or node),
// from reruns spaced out in time. `peer` is the evidence of another place that serves as a
// reference, or null if no peer has enough runs.
// The reruns repeat the change if nearly all of them differ from the earlier runs by half of the
// change, and if noise cannot explain the difference of the means.
Confirmation Confirm(double change, const RerunEvidence& place, const RerunEvidence* peer);

}  // namespace assay::analysis
