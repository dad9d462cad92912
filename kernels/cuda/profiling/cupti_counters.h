// Reads the hardware counters of a case's iterations with CUPTI's range profiler.
#pragma once

#include <cstdint>
#include <functional>

#include "common/status.h"
#include "host/gpu_platform.h"

namespace assay {

// Reads the hardware counters of GPU `ordinal` while `iterate` runs. `iterate` must enqueue
// `iterations` iterations and wait for them. It is called once for each pass that the counters
// require. Between passes, caches are not flushed and clocks are not locked. Counts are per
// iteration, and rates include the gaps between kernels. Returns FAILED_PRECONDITION
// (COUNTERS_NOT_PERMITTED) if the driver restricts counters to administrators. Other errors come
// from CUPTI or `iterate`.
Result<CounterReport> ReadHardwareCounters(int ordinal, int64_t iterations,
                                           const std::function<Status()>& iterate);

}  // namespace assay
