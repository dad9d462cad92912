// Derives the hardware class of a result (GPU model, form factor and topology) from what NVML and
// CUDA report. The agent, a daemon on each node, classifies results; without an agent, the program
// that runs the benchmark does.
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

// Splits the name of a GPU into model and form factor: "NVIDIA A100-SXM4-80GB" becomes {"A100",
// "SXM"} and "NVIDIA H100 PCIe" becomes {"H100", "PCIe"}. Drops the memory size. "NVIDIA H200"
// becomes {"H200", "SXM"}, because the name of the other H200 ends with "NVL".
GpuModel ParseGpuName(std::string_view name);

// Returns how the GPUs `gpus` of a node are connected: "nvlink" if every pair has NVLink, otherwise
// "pcie"; "single" for one GPU, "none" for no GPU. `links` are all links of the node.
std::string TopologyClass(const std::set<int>& gpus, const std::vector<NvmlLink>& links);

}  // namespace assay
