// The name of a GPU that NVML, CUDA and every process agree on.
#pragma once

#include <string>

namespace assay {

// "GPU-..." of CUDA's GPU `ordinal`; empty if the GPU cannot be asked.
std::string GpuUuid(int ordinal);

}  // namespace assay
