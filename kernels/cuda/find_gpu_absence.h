// Whether this process sees GPUs, and if not, why.
#pragma once

#include <optional>

#include "kernels/gpu_absence.h"

namespace assay {

// Empty if CUDA shows a GPU.
std::optional<GpuAbsence> FindGpuAbsence();

}  // namespace assay
