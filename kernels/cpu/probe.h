// Quick measurement of the best rates of this machine's CPUs.
#pragma once

#include <functional>

#include "kernels/benchmark.h"

namespace assay {

// Measures the best rates of the CPU with `threads` threads: fused multiply-adds with the widest
// vectors (fp64 if `fp64`, else fp32) and memory reads. Takes about 0.2 s, or reuses the rates if
// the calling thread has measured them within the last minute. Leaves a rate unset if it cannot be
// measured, for example because memory is short.
Ceilings ProbeCpu(int threads, bool fp64);

// Returns the time of the host's steady clock, in seconds since an arbitrary beginning.
double SteadySeconds();

// Returns the median time of one call to `iterate`, in seconds, over 21 batches of calls. Each
// batch takes at least about `min_sample_seconds`, which must be much longer than it takes to read
// the clock. If `iterate` does no work, the result is the overhead of an iteration
// (Ceilings::fixed_seconds). `now` is the clock, in seconds.
double MedianSecondsOf(const std::function<void()>& iterate, double min_sample_seconds,
                       const std::function<double()>& now = SteadySeconds);

}  // namespace assay
