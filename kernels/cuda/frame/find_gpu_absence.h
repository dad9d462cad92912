// Finds out whether this process sees GPUs, and the reason if it does not.
#pragma once

#include <optional>

#include "host/gpu_absence.h"

namespace assay {

// Returns an empty text if CUDA shows a GPU.
std::optional<GpuAbsence> FindGpuAbsence();

}  // namespace assay
