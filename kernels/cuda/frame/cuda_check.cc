#include "kernels/cuda/frame/cuda_check.h"

#include "kernels/benchmark.h"
#include "kernels/call_site.h"
#include "kernels/cuda/frame/device.h"

namespace assay {
namespace {

// Returns true for failures of the hardware or its driver, which no program causes.
bool IsLoss(cudaError_t error) {
  return error == cudaErrorECCUncorrectable || error == cudaErrorNvlinkUncorrectable ||
         error == cudaErrorNoDevice || error == cudaErrorHardwareStackError ||
         error == cudaErrorSystemNotReady;
}

}  // namespace

Status CudaStatus(cudaError_t error, const char* expression, const char* file, int line) {
  if (error == cudaSuccess) return Status::Ok();
  cudaGetLastError();  // Clears the error, so that no later launch reports it.
  std::string message = std::string(cudaGetErrorName(error)) + " (" + cudaGetErrorString(error) +
                        ") from " + CallSite(expression, file, line);
  if (error == cudaErrorMemoryAllocation) {
    NoteMissingDeviceBytes();
    return OutOfMemory(std::move(message));
  }
  if (IsLoss(error)) return Unavailable(std::move(message), Reason::kGpuLost);
  // In exclusive mode, another process uses the GPU.
  if (error == cudaErrorDevicesUnavailable) {
    return Unavailable(std::move(message), Reason::kGpuUnavailable);
  }
  return Internal(std::move(message), Reason::kCudaError);
}

}  // namespace assay
