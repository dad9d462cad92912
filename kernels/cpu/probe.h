// Quick ceilings of this machine's CPUs, measured by code that does nothing else.
#pragma once

#include <functional>

#include "kernels/benchmark.h"

namespace assay {

// Arithmetic: independent fused multiply-adds in registers, in the widest vectors
// that the CPU has. Memory: reading, every thread its own part, past the caches.
// Best of a few tries, about 0.2 s. `fp64`: else fp32. What cannot be measured (too
// little memory, too few threads) is absent.
Ceilings ProbeCpu(int threads, bool fp64);

// What `iterate` takes, in seconds, as a case is timed: in batches that last about
// `min_sample_seconds`, so that reading the clock is no part of it; the median of a hundred
// batches. Of an iteration that does nothing it is Ceilings::fixed_seconds.
double MedianSecondsOf(const std::function<void()>& iterate, double min_sample_seconds);

}  // namespace assay
