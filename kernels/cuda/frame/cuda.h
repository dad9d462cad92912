// The functions of this folder that builtin.cc needs besides its benchmarks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "host/gpu_platform.h"

namespace assay {

// Return the reason why CUDA shows no GPU or why cuBLASLt is missing; empty if it is available.
std::string WhyNoGpu();
std::string WhyNoCublasLt();

// `nccl_version` returns the version of NCCL and may be empty.
std::unique_ptr<GpuPlatform> NewCudaPlatform(
    std::function<std::optional<std::string>()> nccl_version);

}  // namespace assay
