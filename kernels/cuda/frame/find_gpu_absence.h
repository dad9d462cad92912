// Whether this process sees GPUs, and if not, why.
#pragma once

#include <optional>

#include "host/gpu_absence.h"

namespace assay {

// Empty if CUDA shows a GPU.
std::optional<GpuAbsence> FindGpuAbsence();

}  // namespace assay
