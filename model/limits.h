// Limits of a campaign that its file's reader and the coordinator both hold to.
#pragma once

namespace assay {

inline constexpr int kMaxRepetitions = 1000;

}  // namespace assay
