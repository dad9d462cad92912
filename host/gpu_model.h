// Derives the hardware class of a result (GPU model, form factor and topology) from what NVML and
// CUDA report. Results are classified by the agent (the daemon on each node) or, without an agent,
// by the program that runs the benchmark.
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

// Splits the name of a GPU into model and form factor, dropping the memory size. "NVIDIA
// A100-SXM4-80GB" becomes {"A100", "SXM"}, and "NVIDIA H100 PCIe" becomes {"H100", "PCIe"}. "NVIDIA
// H200" becomes {"H200", "SXM"}, because the other form factor is named "H200 NVL".
GpuModel ParseGpuName(std::string_view name);

// Returns how these GPUs of a node are connected: "none" if there are no GPUs, "single" if there is
// only one, "nvlink" if NVLink connects every pair, and "pcie" otherwise. `links` must contain all
// links of the node.
std::string TopologyClass(const std::set<int>& gpus, const std::vector<NvmlLink>& links);

}  // namespace assay
