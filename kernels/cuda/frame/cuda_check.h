// Errors of the CUDA runtime as Status. Nothing here prints or exits.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "common/status.h"

namespace assay {

// OK for cudaSuccess; else the error with its name, the expression, file and line.
// Memory that could not be had is RESOURCE_EXHAUSTED (OUT_OF_MEMORY), a fault of the
// hardware UNAVAILABLE (GPU_LOST), a GPU that others hold UNAVAILABLE
// (GPU_UNAVAILABLE), everything else INTERNAL (CUDA_ERROR).
Status CudaStatus(cudaError_t error, const char* expression, const char* file, int line);

// ASSAY_CUDA(cudaMalloc(...)) returns from the enclosing function on an error.
#define ASSAY_CUDA(expression) \
  ASSAY_RETURN_IF_ERROR(::assay::CudaStatus((expression), #expression, __FILE__, __LINE__))

}  // namespace assay
