// Finds the points in a history at which a case became slower or faster, and runs that deviate from
// the history. A history is the values of one case at one place, oldest first; see comparison.h for
// the meaning of a value.
//
// The method and its rates on simulated noise: docs/concepts/verdicts.md.
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

// Returns the steps in the newest kStepWindow values, oldest first. Finds candidates by E-divisive
// (Matteson and James 2014) with permutation tests, whose random numbers come from `seed` and the
// number of values. Confirms them by Welch's t test, with the number of values corrected for
// autocorrelation. To avoid false alarms, a step must also be found without the newest value, at a
// position that differs by at most two values.
std::vector<Step> FindSteps(std::span<const double> values, const StepRule& rule, uint64_t seed);

// The difference between the newest value of a history and the values before it.
struct Deviation {
  double change = 0;  // Newest value minus the mean of the segment.
  // True if the value is outside the prediction interval of the segment (p = 1e-4), and slower by
  // at least 1% and by three times the noise of a run. Reruns should then confirm the change.
  bool suspect = false;
};

// Judges the newest value of `segment`, the values since the last step. `noise` is the typical
// uncertainty of one run, as a fraction. Returns nullopt if there are fewer than ten earlier
// values.
std::optional<Deviation> JudgeNewest(std::span<const double> segment, double noise);

// The evidence about a change: the segment of values that preceded the change, and reruns after it.
struct RerunEvidence {
  std::vector<double> segment;
  std::vector<double> reruns;
};

// Number of reruns of a place that are needed before a change can be cleared, before it can be
// confirmed, and before the last decision. Three slow reruns do not suffice, because they occur by
// chance in 3% of cases with a slow mode in 30% of runs.
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

// Decides what to do next about a change (negative: slower), from reruns that were spaced in time.
// The reruns of a place repeat the change if nearly each of them differs from the place's segment
// by half of the change, and their mean differs by more than noise explains. `peer` is the evidence
// of another place that serves as a reference, or null if no peer has enough runs.
Confirmation Confirm(double change, const RerunEvidence& place, const RerunEvidence* peer);

}  // namespace assay::analysis
