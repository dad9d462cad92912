// Short runs that measure a GPU's ceilings.
#pragma once

#include <string>

#include "common/status.h"

namespace assay {

// Measures the ceiling `kind` of the current GPU for GpuPlatform::MeasureCeiling; the best of many
// samples counts. "copy": bytes read and written by cudaMemcpyAsync; "read": by a kernel that sums
// them up; "write": by cudaMemsetAsync or a kernel; each over 1 GiB. Arithmetic is measured with
// cuBLASLt on random values, fp8 with fast accumulation. Returns Unsupported() for a kind without a
// probe; RESOURCE_EXHAUSTED if the GPU's memory is in use.
Result<double> ProbeCeiling(const std::string& kind);

}  // namespace assay
