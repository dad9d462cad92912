#include "kernels/cuda/frame/cuda_check.h"

#include "kernels/benchmark.h"
#include "common/call_site.h"
#include "kernels/cuda/frame/device.h"

namespace assay {
namespace {

// Errors that no program makes: the hardware or its driver gave up.
bool IsLoss(cudaError_t error) {
  return error == cudaErrorECCUncorrectable || error == cudaErrorNvlinkUncorrectable ||
         error == cudaErrorNoDevice || error == cudaErrorHardwareStackError ||
         error == cudaErrorSystemNotReady;
}

}  // namespace

Status CudaStatus(cudaError_t error, const char* expression, const char* file, int line) {
  if (error == cudaSuccess) return Status::Ok();
  cudaGetLastError();  // Clears it, so that no later launch is blamed for it.
  std::string message = std::string(cudaGetErrorName(error)) + " (" + cudaGetErrorString(error) +
                        ") from " + CallSite(expression, file, line);
  if (error == cudaErrorMemoryAllocation) {
    NoteMissingDeviceBytes();
    return OutOfMemory(std::move(message));
  }
  if (IsLoss(error)) return Unavailable(std::move(message), "GPU_LOST");
  // In exclusive mode, another's process on the GPU.
  if (error == cudaErrorDevicesUnavailable) {
    return Unavailable(std::move(message), "GPU_UNAVAILABLE");
  }
  return Internal(std::move(message), "CUDA_ERROR");
}

}  // namespace assay
