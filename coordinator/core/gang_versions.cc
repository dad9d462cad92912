#include "coordinator/core/gang_versions.h"

#include <array>

#include "coordinator/core/text.h"

namespace assay::coordinator {
namespace {

struct Version {
  const char* what;
  std::string (*of)(const v1::NodeInventory& inventory);
};

std::string OrUnknown(bool known, const std::string& text) { return known ? text : "unknown"; }

const std::array<Version, 3>& Versions() {
  using Inventory = v1::NodeInventory;
  static const std::array<Version, 3> versions = {{
      {"the driver",
       [](const Inventory& i) { return OrUnknown(i.has_driver_version(), i.driver_version()); }},
      {"the CUDA runtime",
       [](const Inventory& i) {
         return OrUnknown(i.software().has_cuda_runtime(), i.software().cuda_runtime());
       }},
      {"NCCL",
       [](const Inventory& i) { return OrUnknown(i.software().has_nccl(), i.software().nccl()); }},
  }};
  return versions;
}

}  // namespace

std::string GangVersions(const v1::NodeDescription& node) {
  std::string text;
  for (const Version& version : Versions()) text += version.of(node.inventory()) + "\n";
  return text;
}

std::string VersionMismatch(const std::vector<const v1::NodeDescription*>& nodes) {
  std::vector<std::string> differences;
  for (const Version& version : Versions()) {
    // In the order of the nodes, so that the text is the same every time.
    std::vector<std::pair<std::string, std::vector<std::string>>> names_by_version;
    for (const v1::NodeDescription* node : nodes) {
      const std::string text = version.of(node->inventory());
      auto known = names_by_version.begin();
      while (known != names_by_version.end() && known->first != text) ++known;
      if (known == names_by_version.end()) known = names_by_version.insert(known, {text, {}});
      known->second.push_back(node->name());
    }
    if (names_by_version.size() < 2) continue;
    std::vector<std::string> parts;
    for (const auto& [text, names] : names_by_version) {
      parts.push_back(Cut(text) + " on " + JoinSome(names));
    }
    differences.push_back(std::string(version.what) + " is " + Join(parts, " and "));
  }
  return Join(differences, "; ");
}

}  // namespace assay::coordinator
