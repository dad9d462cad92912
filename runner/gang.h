// Runs one case on all ranks of a gang (processes that run a collective together). Rank 0 makes the
// decisions, and the other ranks follow. Without a gang, each function acts on this process only.
#pragma once

#include "kernels/benchmark.h"

namespace assay {

// Makes all ranks return the same error if any of them has one (see Agree). `mine` is this rank's
// own status. Without a gang (if `peers` is null), returns `mine`.
Status AgreeIfGang(Peers* peers, const Status& mine);

// The combined verdict of all ranks.
struct GangVerdict {
  Verdict verdict;
  int failed_rank = -1;  // The first rank that failed; -1 if all passed, or without a gang.
};

// Combines the verification results of all ranks, and returns the combined result on every rank:
//   - It passes if all ranks passed.
//   - Its error is the largest error on any rank, or NaN if any is NaN.
//   - Its number of checked elements is the sum over all ranks.
//   - Its detail is that of the first rank that failed.
Result<GangVerdict> MergeVerdicts(Peers* peers, const Verdict& mine);

// Measures the case on all ranks. Rank 0 decides how many samples to take. The time of a sample is
// that of the slowest rank, because a collective operation is complete only when all ranks are
// done. Only rank 0 receives the complete times. The other ranks call only the hooks warmup_begins
// and window_begins.
Result<MeasuredTimes> MeasureOnAllRanks(Case& prepared, const MeasureRule& rule,
                                        const RunContext& context, const MeasureHooks& hooks);

}  // namespace assay
