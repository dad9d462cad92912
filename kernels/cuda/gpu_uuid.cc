#include "kernels/cuda/gpu_uuid.h"

#include <cuda_runtime_api.h>

#include <cstdio>

namespace assay {

std::string GpuUuid(int ordinal) {
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, ordinal) != cudaSuccess) {
    cudaGetLastError();
    return "";
  }
  std::string text = "GPU";
  for (size_t i = 0; i < sizeof properties.uuid.bytes; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char hex[3];
    std::snprintf(hex, sizeof hex, "%02x", static_cast<unsigned char>(properties.uuid.bytes[i]));
    text += hex;
  }
  return text;
}

}  // namespace assay
