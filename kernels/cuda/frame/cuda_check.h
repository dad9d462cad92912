// Errors of the CUDA runtime as Status. Nothing here prints or exits.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "common/status.h"

namespace assay {

// Converts a CUDA error to a Status with the error's name, the expression, file and line.
// cudaSuccess is OK. Failed allocations are RESOURCE_EXHAUSTED (OUT_OF_MEMORY), hardware failures
// UNAVAILABLE (GPU_LOST), a GPU that other processes hold UNAVAILABLE (GPU_UNAVAILABLE), and all
// others INTERNAL (CUDA_ERROR).
Status CudaStatus(cudaError_t error, const char* expression, const char* file, int line);

// ASSAY_CUDA(cudaMalloc(...)) returns from the enclosing function on an error.
#define ASSAY_CUDA(expression) \
  ASSAY_RETURN_IF_ERROR(::assay::CudaStatus((expression), #expression, __FILE__, __LINE__))

}  // namespace assay
