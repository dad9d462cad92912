// Short benchmarks that measure the performance ceilings of a GPU.
#pragma once

#include <string>

#include "common/status.h"

namespace assay {

// Measures the best rate that the current GPU reaches in many samples. `kind` is:
// - "copy": bytes per second read plus written by cudaMemcpyAsync or a kernel, over 1 GiB
// - "read": bytes per second that a summing kernel reads, over 1 GiB
// - "write": bytes per second written by cudaMemsetAsync or a kernel, over 1 GiB
// - an arithmetic type: FLOPs per second of cuBLASLt on random values (fp8: fast accumulation)
// Returns Unsupported() for any other kind, and RESOURCE_EXHAUSTED if too little memory is free.
Result<double> ProbeCeiling(const std::string& kind);

}  // namespace assay
