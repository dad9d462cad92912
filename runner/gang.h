// Runs one case on all ranks of a gang: rank 0 decides, the others follow. Without a gang, each
// function is a plain call on this process.
#pragma once

#include "kernels/benchmark.h"

namespace assay {

// Calls Agree; without a gang (null) returns `mine`.
Status AgreeIfGang(Peers* peers, const Status& mine);

// A verdict of all ranks.
struct GangVerdict {
  Verdict verdict;
  int failed_rank = -1;  // The first rank that failed; -1 if all passed, or without a gang.
};

// Merges the ranks' verdicts into one, which all ranks get. It has passed if all passed, has the
// largest error (NaN counts as the largest) and the sum of elements. Its detail is that of the
// first rank that failed.
Result<GangVerdict> MergeVerdicts(Peers* peers, const Verdict& mine);

// Measures the case on all ranks. The engine runs at rank 0 and decides how many samples follow. A
// sample is the longest of all ranks' samples, because a collective is done when its last rank is.
// Only rank 0 gets complete times; the other ranks call only the hooks warmup_begins and
// window_begins.
Result<MeasuredTimes> MeasureOnAllRanks(Case& prepared, const MeasureRule& rule,
                                        const RunContext& context, const MeasureHooks& hooks);

}  // namespace assay
