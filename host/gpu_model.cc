#include "host/gpu_model.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace assay {
namespace {

// Products whose plain name means the SXM module. The names of their PCIe boards say so.
constexpr std::array<std::string_view, 5> kSxmByDefault = {"H100", "H200", "H20", "B200", "B300"};

// Names of vendors and brands, which do not identify the product.
constexpr std::array<std::string_view, 3> kBrands = {"NVIDIA", "Tesla", "GeForce"};

// Returns true for "80GB" and the like.
bool IsMemorySize(std::string_view word) {
  return word.size() > 2 && word.substr(word.size() - 2) == "GB" &&
         std::all_of(word.begin(), word.end() - 2,
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(" -"), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

}  // namespace

GpuModel ParseGpuName(std::string_view name) {
  GpuModel gpu;
  for (const std::string_view word : Words(name)) {
    if (std::find(kBrands.begin(), kBrands.end(), word) != kBrands.end()) continue;
    if (word == "MIG") break;  // The rest is the MIG profile, not the name.
    if (IsMemorySize(word) || word == "HBM3" || word == "HBM3e") continue;
    if (word.starts_with("SXM")) {
      gpu.form_factor = "SXM";
    } else if (word == "PCIe" || word == "PCIE" || word == "NVL") {
      gpu.form_factor = word == "NVL" ? "NVL" : "PCIe";
    } else {
      gpu.model += (gpu.model.empty() ? "" : " ") + std::string(word);
    }
  }
  if (gpu.form_factor.empty() &&
      std::find(kSxmByDefault.begin(), kSxmByDefault.end(), gpu.model) != kSxmByDefault.end()) {
    gpu.form_factor = "SXM";
  }
  return gpu;
}

std::string TopologyClass(const std::set<int>& gpus, const std::vector<NvmlLink>& links) {
  if (gpus.empty()) return "none";
  if (gpus.size() == 1) return "single";
  const auto nvlinks = std::count_if(links.begin(), links.end(), [&](const NvmlLink& link) {
    return gpus.count(link.gpu_a) != 0 && gpus.count(link.gpu_b) != 0 &&
           link.kind.starts_with("NV");
  });
  const size_t pairs = gpus.size() * (gpus.size() - 1) / 2;
  return static_cast<size_t>(nvlinks) == pairs ? "nvlink" : "pcie";
}

}  // namespace assay
