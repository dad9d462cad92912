// The name of a GPU that NVML, CUDA and every process agree on.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace assay {

// "GPU-...", NVML's way to write it.
std::string UuidText(const cudaUUID_t& uuid);

// That of CUDA's GPU `ordinal`; empty if the GPU cannot be asked.
std::string GpuUuid(int ordinal);

}  // namespace assay
