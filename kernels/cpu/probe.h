// Quick measurement of the best rates of this machine's CPUs.
#pragma once

#include <functional>

#include "kernels/benchmark.h"

namespace assay {

// Measures the best rates of the CPU with `threads` threads: fused multiply-adds (fp64 if `fp64`,
// else fp32) with the widest vectors, and reads from memory. Returns the best of a few tries, after
// about 0.2 s. Leaves out a rate that cannot be measured because there is too little memory or too
// few threads.
Ceilings ProbeCpu(int threads, bool fp64);

// Returns the median time of one call of `iterate`, in seconds, over a hundred batches of calls.
// Each batch lasts about `min_sample_seconds`, so that the time to read the clock is negligible.
// With an `iterate` that does nothing, this measures Ceilings::fixed_seconds.
double MedianSecondsOf(const std::function<void()>& iterate, double min_sample_seconds);

}  // namespace assay
