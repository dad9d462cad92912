// Limits on the settings of a campaign (a set of benchmarks to run). They are checked when a
// campaign file is read, and again by the coordinator (Assay's server).
#pragma once

namespace assay {

inline constexpr int kMaxRepetitions = 1000;
inline constexpr int kMaxRetries = 10;
// The maximum number of nodes that a campaign can expect.
inline constexpr int kMaxExpectedNodes = 100'000;
// A campaign's priority is from -kMaxPriority to kMaxPriority.
inline constexpr int kMaxPriority = 100;

}  // namespace assay
