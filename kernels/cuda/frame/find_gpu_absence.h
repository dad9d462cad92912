// Finds out whether this process sees GPUs, and the reason if it does not.
#pragma once

#include <optional>

#include "host/gpu_platform.h"

namespace assay {

// Returns the reason, or nothing if CUDA shows a GPU.
std::optional<GpuAbsence> FindGpuAbsence();

}  // namespace assay
