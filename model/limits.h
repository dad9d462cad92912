// Limits of a campaign, for the reader of campaign files and for the coordinator.
#pragma once

namespace assay {

inline constexpr int kMaxRepetitions = 1000;
inline constexpr int kMaxRetries = 10;
// Most nodes that a campaign can expect.
inline constexpr int kMaxExpectedNodes = 100'000;
// Priorities are from -kMaxPriority to kMaxPriority.
inline constexpr int kMaxPriority = 100;

}  // namespace assay
