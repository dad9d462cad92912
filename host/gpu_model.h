// A GPU's product, read out of the name that NVML and CUDA give it.
#pragma once

#include <string>
#include <string_view>

namespace assay {

struct GpuModel {
  std::string model;        // "H200", "A100", "RTX 4090".
  std::string form_factor;  // "SXM", "PCIe", "NVL", or empty where the name does not tell.
};

// "NVIDIA A100-SXM4-80GB" -> {"A100", "SXM"}; "NVIDIA H100 PCIe" -> {"H100", "PCIe"};
// "NVIDIA H200" -> {"H200", "SXM"}, since the other H200 is called "NVIDIA H200 NVL".
// The memory's size is not part of the model.
GpuModel ParseGpuName(std::string_view name);

}  // namespace assay
