// The hardware class of a result: GPU model, form factor and topology, from what NVML and CUDA
// report. Agents apply these rules to results; a runner without an agent applies them itself.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "host/nvml.h"

namespace assay {

struct GpuModel {
  std::string model;        // "H200", "A100", "RTX 4090".
  std::string form_factor;  // "SXM", "PCIe", "NVL", or empty if the name does not show it.
};

// Splits the name of a GPU: "NVIDIA A100-SXM4-80GB" becomes {"A100", "SXM"}, "NVIDIA H100 PCIe"
// becomes {"H100", "PCIe"}. "NVIDIA H200" becomes {"H200", "SXM"}, because the other H200 is called
// "NVIDIA H200 NVL". The size of the memory is not part of the model.
GpuModel ParseGpuName(std::string_view name);

// Returns how `gpus` of one node are connected: "none" without GPUs, "single" for one GPU, "nvlink"
// if NVLink connects every pair, otherwise "pcie". `links` are all links of the node.
std::string TopologyClass(const std::set<int>& gpus, const std::vector<NvmlLink>& links);

}  // namespace assay
