// Runs one case on all ranks of a gang (processes that run a collective together). Rank 0 makes the
// decisions, and the other ranks follow. Without a gang, each function acts on this process only.
#pragma once

#include "kernels/benchmark.h"

namespace assay {

// Calls Agree, so that all ranks return the same error if one rank has an error. Without a gang
// (`peers` is null), returns `mine`.
Status AgreeIfGang(Peers* peers, const Status& mine);

// The combined verdict of all ranks.
struct GangVerdict {
  Verdict verdict;
  int failed_rank = -1;  // The first rank that failed; -1 if all passed, or without a gang.
};

// Combines the verification results of all ranks into one, and returns it on every rank. The
// combined result passes if all ranks passed. Its error is the largest error of any rank, where NaN
// counts as largest. Its number of checked elements is the sum over all ranks. Its detail is that
// of the first rank that failed.
Result<GangVerdict> MergeVerdicts(Peers* peers, const Verdict& mine);

// Measures the case on all ranks. Rank 0 decides how many samples are taken. A sample is the time
// of the slowest rank, because a collective has finished only when its last rank has. Only rank 0
// gets complete times. On the other ranks, only the hooks warmup_begins and window_begins are
// called.
Result<MeasuredTimes> MeasureOnAllRanks(Case& prepared, const MeasureRule& rule,
                                        const RunContext& context, const MeasureHooks& hooks);

}  // namespace assay
