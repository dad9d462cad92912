// Finds out whether this process sees GPUs, and the reason if it does not.
#pragma once

#include <optional>

#include "host/gpu_platform.h"

namespace assay {

// Returns the reason why this process sees no GPU, or nothing if it sees one.
std::optional<GpuAbsence> FindGpuAbsence();

}  // namespace assay
