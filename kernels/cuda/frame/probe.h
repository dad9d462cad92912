// Short runs that find a GPU's measured ceilings.
#pragma once

#include <string>

#include "common/status.h"

namespace assay {

// The ceiling `kind` of the current GPU as GpuPlatform::MeasureCeiling gives it, the
// best of many samples. "copy": bytes read and written by cudaMemcpyAsync; "read": by a
// kernel that sums them up; "write": by cudaMemsetAsync or a kernel; each over 1 GiB.
// Arithmetic: by cuBLASLt on random values, fp8 with its fast sums. Unsupported() for
// what has no probe; RESOURCE_EXHAUSTED if the GPU's memory is taken.
Result<double> ProbeCeiling(const std::string& kind);

}  // namespace assay
