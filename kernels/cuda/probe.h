// Short runs that find a GPU's measured ceilings.
#pragma once

#include <cuda_runtime_api.h>

#include <optional>
#include <string>

#include "common/status.h"
#include "kernels/cuda/gemm_data.h"
#include "kernels/cuda/gemm_shape.h"

namespace assay {

// The ceiling `kind` of the current GPU as GpuPlatform::MeasureCeiling gives it, the
// best of many samples: "copy" bytes read and written by cudaMemcpyAsync, "read" by a
// kernel that sums them up, "write" by cudaMemsetAsync or a kernel, each over 1 GiB; arithmetic by
// cuBLASLt on random values. RESOURCE_EXHAUSTED if its memory is taken.
Result<double> ProbeCeiling(const std::string& kind);

// Bytes read and written a second by a device-to-device cudaMemcpyAsync of 1 GiB;
// absent if there is no memory left for it. About 20 ms on an H200.
Result<std::optional<double>> ProbeCopyBandwidth(cudaStream_t stream);

// FLOP/s of the fastest of a few 8192-cubed GEMMs of `type`, B stored transposed,
// which Hopper likes best, on values as `inputs` says; absent if there is no memory
// left for it. About 0.1 s on an H200.
Result<std::optional<double>> ProbeGemmFlops(GemmType type, const GemmInputs& inputs,
                                             cudaStream_t stream);

}  // namespace assay
