// Limits of a campaign that its file's reader and the coordinator both hold to.
#pragma once

namespace assay {

inline constexpr int kMaxRepetitions = 1000;
inline constexpr int kMaxRetries = 10;
// Priorities lie between this and its negative.
inline constexpr int kMaxPriority = 100;

}  // namespace assay
