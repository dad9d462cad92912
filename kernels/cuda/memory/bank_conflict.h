// The work of one iteration of bank_conflict, for its declaration and its kernel.
#pragma once

namespace assay {

inline constexpr int kBanks = 32;  // Each serves one word of 4 bytes per cycle.
// Enough warps that the banks are the limit, not the latency of a load.
inline constexpr int kBankConflictWarps = 8;
// Loads per warp: rounds over the same rows.
inline constexpr int kBankConflictRounds = 256;
inline constexpr int kBankConflictRows = 16;

}  // namespace assay
