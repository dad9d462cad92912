// The functions of this folder that builtin.cc needs besides its benchmarks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "host/gpu_platform.h"

namespace assay {

// Return the reason why CUDA shows no GPU, or why there is no cuBLASLt; empty if there is one.
std::string WhyNoGpu();
std::string WhyNoCublasLt();

// `nccl_version` returns NCCL's version, which this folder does not know; it may be empty.
std::unique_ptr<GpuPlatform> NewCudaPlatform(
    std::function<std::optional<std::string>()> nccl_version);

}  // namespace assay
