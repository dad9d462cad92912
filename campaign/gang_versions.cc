#include "campaign/gang_versions.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "common/text.h"

namespace assay::campaign {
namespace {

std::string OrUnknown(const std::string& text) { return text.empty() ? "unknown" : text; }

// A version that must be equal on all nodes of a gang.
struct Version {
  const char* what;
  std::string (*of)(const v1::NodeInventory& inventory);
};

constexpr std::array<Version, 3> kVersions = {{
    {"the driver", [](const v1::NodeInventory& i) { return OrUnknown(i.driver_version()); }},
    {"the CUDA runtime",
     [](const v1::NodeInventory& i) { return OrUnknown(i.software().cuda_runtime()); }},
    {"NCCL", [](const v1::NodeInventory& i) { return OrUnknown(i.software().nccl()); }},
}};

using Descriptions = std::vector<const v1::NodeDescription*>;

std::vector<std::string> NamesOf(const Descriptions& nodes) {
  std::vector<std::string> names;
  for (const v1::NodeDescription* node : nodes) names.push_back(node->name());
  return names;
}

// Describes how nodes differ in a property, for example "NCCL is 2.28.9 on a, c and 2.27.3 on b".
// `of` returns a node's text for the property. Returns an empty string if all texts are equal.
template <typename TextOf>
std::string Difference(const std::string& what, const Descriptions& nodes, const TextOf& of) {
  std::vector<std::string> texts;
  for (const v1::NodeDescription* node : nodes) texts.push_back(of(*node));
  return DifferenceText(what, texts, [&](const std::string& text, const auto& positions) {
    Descriptions alike;
    for (const size_t position : positions) alike.push_back(nodes[position]);
    return Cut(text) + " on " + JoinSome(NamesOf(alike));
  });
}

std::string ModelOf(const v1::GpuInventory& gpu) {
  std::string text = OrUnknown(gpu.model());
  for (const std::string& part : {gpu.form_factor(), gpu.mig_profile()}) {
    if (!part.empty()) text += " " + part;
  }
  return text;
}

std::set<std::string> ModelsOf(const v1::NodeDescription& node,
                               const std::vector<int>& gpu_indices) {
  std::set<std::string> models;
  for (const v1::GpuInventory& gpu : node.inventory().gpus()) {
    const bool taken =
        std::find(gpu_indices.begin(), gpu_indices.end(), gpu.index()) != gpu_indices.end();
    if (taken) models.insert(ModelOf(gpu));
  }
  return models;
}

}  // namespace

std::string GangVersions(const v1::NodeDescription& node) {
  std::string text;
  for (const Version& version : kVersions) text += version.of(node.inventory()) + "\n";
  return text;
}

std::string VersionMismatch(const Descriptions& nodes) {
  std::vector<std::string> differences;
  for (const Version& version : kVersions) {
    std::string difference = Difference(version.what, nodes, [&](const v1::NodeDescription& node) {
      return version.of(node.inventory());
    });
    if (!difference.empty()) differences.push_back(std::move(difference));
  }
  return Join(differences, "; ");
}

std::string GangGpus(const v1::NodeDescription& node, const std::vector<int>& gpu_indices) {
  const std::set<std::string> models = ModelsOf(node, gpu_indices);
  return Join({models.begin(), models.end()}, " and ");
}

std::string GpuMismatch(const Descriptions& nodes, const std::vector<int>& gpu_indices) {
  const auto gpus = [&](const v1::NodeDescription& node) { return GangGpus(node, gpu_indices); };
  std::string difference = Difference("the GPU", nodes, gpus);
  if (!difference.empty() || nodes.empty()) return difference;
  // All nodes have the same models, but each node may have several.
  if (ModelsOf(*nodes[0], gpu_indices).size() < 2) return "";
  return "the GPUs are " + Cut(gpus(*nodes[0])) + " on " + JoinSome(NamesOf(nodes));
}

}  // namespace assay::campaign
