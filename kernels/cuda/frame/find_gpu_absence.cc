#include "kernels/cuda/frame/find_gpu_absence.h"

#include <cuda_runtime_api.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

namespace assay {
namespace {

// Error numbers that host/gpu_platform.cc uses.
static_assert(cudaErrorInitializationError == 3 && cudaErrorInsufficientDriver == 35 &&
              cudaErrorNoDevice == 100 && cudaErrorSystemNotReady == 802 &&
              cudaErrorSystemDriverMismatch == 803 && cudaErrorUnknown == 999);

// Returns true if there is a device file of any GPU, or /dev/dxg, the only path to GPUs under WSL.
bool HasDeviceFiles() {
  if (access("/dev/dxg", F_OK) == 0) return true;
  std::error_code error;
  for (std::filesystem::directory_iterator file("/dev", error), end; !error && file != end;
       file.increment(error)) {
    const std::string name = file->path().filename().string();
    constexpr std::string_view kPrefix = "nvidia";
    if (name.size() > kPrefix.size() && name.rfind(kPrefix, 0) == 0 &&
        name.find_first_not_of("0123456789", kPrefix.size()) == std::string::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<GpuAbsence> FindGpuAbsence() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return std::nullopt;
  cudaGetLastError();
  CudaAnswer answer;
  answer.error = error;
  answer.error_name = cudaGetErrorName(error);
  answer.runtime_version = CUDART_VERSION;
  if (cudaDriverGetVersion(&answer.driver_version) != cudaSuccess) answer.driver_version = 0;
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) answer.visible_devices = visible;
  answer.device_files = HasDeviceFiles();
  return ExplainNoGpu(answer);
}

}  // namespace assay
