// The identifier of a GPU that NVML, CUDA and all processes share.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace assay {

// Formats a UUID like NVML: "GPU-...".
std::string UuidText(const cudaUUID_t& uuid);

// Returns the UUID of CUDA's GPU `ordinal`; empty on failure.
std::string GpuUuid(int ordinal);

}  // namespace assay
