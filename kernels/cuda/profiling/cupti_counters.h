// Hardware counters of a case's iterations, read with CUPTI's range profiler.
#pragma once

#include <cstdint>
#include <functional>

#include "common/status.h"
#include "host/gpu_platform.h"

namespace assay {

// Runs `iterate` once per pass that the counters need. `iterate` enqueues `iterations` iterations
// and waits for them. Returns means per iteration: sums over all passes' ranges divided by
// `iterations`, and rates over whole ranges including the gaps between kernels. Caches are not
// flushed and clocks are not locked between passes. Returns FAILED_PRECONDITION
// (COUNTERS_NOT_PERMITTED) if the driver restricts counters to administrators; other errors are
// CUPTI's or those of `iterate`.
Result<CounterReport> ReadHardwareCounters(int ordinal, int64_t iterations,
                                           const std::function<Status()>& iterate);

}  // namespace assay
