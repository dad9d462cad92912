// What this folder offers to builtin.cc beside its benchmarks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "host/platform.h"

namespace assay {

// Why CUDA shows no GPU, and why there is no cuBLASLt or no GPU; empty if there is.
std::string WhyNoGpu();
std::string WhyNoCublasLt();

// `nccl_version` tells NCCL's, which this folder does not know; it may be empty.
std::unique_ptr<GpuPlatform> NewCudaPlatform(
    std::function<std::optional<std::string>()> nccl_version);

}  // namespace assay
