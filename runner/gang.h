// One case on all ranks of a gang: rank 0 decides, the others follow. With one
// rank everything here is a plain call.
#pragma once

#include "kernels/benchmark.h"

namespace assay {

// As Agree, where there may be no gang.
Status AgreeIfGang(Peers* peers, const Status& mine);

// One verdict for all ranks, the same on each: passed if all passed, the largest
// error (NaN is larger than any), elements summed, details naming the rank.
Result<Verdict> MergeVerdicts(Peers* peers, const Verdict& mine);

// Measures the case: at rank 0 the engine decides how many samples follow and
// tells the others. A sample is the longest of all ranks' samples, since a
// collective is done when its last rank is. Times are whole at rank 0 only, and the other
// ranks call no hooks but warmup_begins and window_begins.
Result<MeasuredTimes> MeasureOnAllRanks(Case& prepared, const MeasureRule& rule,
                                        const RunContext& context, const MeasureHooks& hooks);

}  // namespace assay
