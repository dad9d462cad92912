// Quick measurement of the best rates of this machine's CPUs.
#pragma once

#include <functional>

#include "kernels/benchmark.h"

namespace assay {

// Returns the rates of fused multiply-adds in registers, in the CPU's widest vectors, and of
// reading from memory, each thread its own part of an array larger than the caches. Takes the best
// of a few tries, about 0.2 s. Arithmetic is in fp64 if `fp64`, else in fp32. A rate is absent if
// it cannot be measured (too little memory, too few threads).
Ceilings ProbeCpu(int threads, bool fp64);

// Returns the seconds that `iterate` takes, the median of a hundred batches of calls. A batch lasts
// about `min_sample_seconds`, so that reading the clock does not count. For an iteration that does
// nothing, the result is Ceilings::fixed_seconds.
double MedianSecondsOf(const std::function<void()>& iterate, double min_sample_seconds);

}  // namespace assay
