#include "kernels/cuda/frame/gpu_uuid.h"

#include <cstdio>

namespace assay {

std::string UuidText(const cudaUUID_t& uuid) {
  std::string text = "GPU";
  for (size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char hex[3];
    std::snprintf(hex, sizeof hex, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += hex;
  }
  return text;
}

std::string GpuUuid(int ordinal) {
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, ordinal) == cudaSuccess) {
    return UuidText(properties.uuid);
  }
  cudaGetLastError();
  return "";
}

}  // namespace assay
