// Converts errors of the CUDA runtime to Status. Nothing here prints or exits.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "common/status.h"

namespace assay {

// Converts a CUDA error to a Status; cudaSuccess becomes OK. The message includes the error's name,
// the expression, the file and the line. The status code depends on the error:
// - allocation failed: RESOURCE_EXHAUSTED (OUT_OF_MEMORY)
// - hardware failed: UNAVAILABLE (GPU_LOST)
// - another process holds the GPU exclusively: UNAVAILABLE (GPU_UNAVAILABLE)
// - anything else: INTERNAL (CUDA_ERROR)
Status CudaStatus(cudaError_t error, const char* expression, const char* file, int line);

// ASSAY_CUDA(cudaMalloc(...)) returns from the enclosing function on an error.
#define ASSAY_CUDA(expression) \
  ASSAY_RETURN_IF_ERROR(::assay::CudaStatus((expression), #expression, __FILE__, __LINE__))

}  // namespace assay
