// Hardware counters of a case's iterations, by CUPTI's range profiler.
#pragma once

#include <cstdint>
#include <functional>

#include "common/status.h"
#include "host/platform.h"

namespace assay {

// Runs `iterate`, which enqueues `iterations` iterations and waits for them, once for
// each pass that the counters need, and returns the means of an iteration: sums over
// all passes' ranges divided by `iterations`, and rates over whole ranges, the gaps
// between kernels included. Nothing is flushed and no clock is held between passes.
// FAILED_PRECONDITION (COUNTERS_NOT_PERMITTED) if the driver keeps counters for
// administrators; other errors are CUPTI's or those of `iterate`.
Result<CounterReport> ReadHardwareCounters(int ordinal, int64_t iterations,
                                           const std::function<Status()>& iterate);

}  // namespace assay
