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

// A step: from `first` on, the values have another level.
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

// Returns the steps in the newest kStepWindow values, oldest first. Uses E-divisive (Matteson and
// James 2014) with permutation tests, whose random numbers come from `seed` and the number of
// values, then Welch's t test with the number of values corrected for autocorrelation. To avoid
// false alarms, a step must be found twice in a row: also without the newest value, at the same
// place within two values.
std::vector<Step> FindSteps(std::span<const double> values, const StepRule& rule, uint64_t seed);

// The difference of the newest value of a history from those before it.
struct Deviation {
  double change = 0;  // Newest value minus the mean of the segment.
  // The value is outside the prediction interval of the segment (p = 1e-4), and slower by at least
  // 1% and three times the noise of a run. Reruns should confirm it.
  bool suspect = false;
};

// Judges the newest value of `segment`, the values since the last step. `noise` is the typical
// uncertainty of one run, as a fraction. Returns nullopt if there are fewer than ten earlier
// values.
std::optional<Deviation> JudgeNewest(std::span<const double> segment, double noise);

// The evidence about a change: the segment that preceded it, without the change, and reruns.
struct RerunEvidence {
  std::vector<double> segment;
  std::vector<double> reruns;
};

// Number of reruns of a place before a change can be cleared, before it can be confirmed, and
// before the last decision. Three slow reruns do not suffice: they occur by chance in 3% of cases
// with a slow mode in 30% of runs.
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

// Decides what to do next about a change (negative: slower), from reruns at spaced times. The
// reruns of a place repeat the change if nearly each of them differs from its own segment by half
// of the change, and their mean differs by more than noise explains. `peer` is null if there is no
// peer with enough runs.
Confirmation Confirm(double change, const RerunEvidence& place, const RerunEvidence* peer);

}  // namespace assay::analysis
