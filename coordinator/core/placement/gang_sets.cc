#include "coordinator/core/placement/gang_sets.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "coordinator/core/placement/gang_versions.h"

namespace assay::coordinator {
namespace {

// Groups nodes by the text that `text_of` returns, in the order of each text's first node.
std::vector<Nodes> Alike(const Nodes& nodes,
                         const std::function<std::string(const v1::NodeDescription&)>& text_of) {
  std::vector<Nodes> sets;
  std::map<std::string, size_t> positions;
  for (const v1::Node& node : nodes) {
    const auto [known, fresh] = positions.try_emplace(text_of(node.description()), sets.size());
    if (fresh) sets.emplace_back();
    sets[known->second].push_back(node);
  }
  return sets;
}

Nodes Largest(std::vector<Nodes> sets) {
  const auto found = std::max_element(
      sets.begin(), sets.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  return found == sets.end() ? Nodes() : std::move(*found);
}

}  // namespace

std::vector<const v1::NodeDescription*> DescriptionsOf(const Nodes& nodes) {
  std::vector<const v1::NodeDescription*> descriptions;
  for (const v1::Node& node : nodes) descriptions.push_back(&node.description());
  return descriptions;
}

Nodes OfOneModel(const Nodes& nodes, const std::vector<int>& gpu_indices) {
  Nodes found;
  std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(found), [&](const v1::Node& node) {
    return GpuMismatch({&node.description()}, gpu_indices).empty();
  });
  return found;
}

Nodes LargestUniform(const Nodes& nodes, const std::vector<int>& gpu_indices, size_t size,
                     bool mixed_gpus) {
  Nodes alike = Largest(Alike(OfOneModel(nodes, gpu_indices), [&](const v1::NodeDescription& node) {
    return GangVersions(node) + GangGpus(node, gpu_indices);
  }));
  if (!mixed_gpus || alike.size() >= size) return alike;
  return Largest(Alike(nodes, GangVersions));
}

std::vector<Nodes> SetsByModel(const Nodes& nodes, const std::vector<int>& gpu_indices,
                               size_t size) {
  std::vector<Nodes> sets;
  Nodes rest;
  for (Nodes& set :
       Alike(nodes, [&](const v1::NodeDescription& node) { return GangGpus(node, gpu_indices); })) {
    if (set.size() >= size) {
      sets.push_back(std::move(set));
    } else {
      rest.insert(rest.end(), set.begin(), set.end());
    }
  }
  if (rest.empty()) return sets;
  for (auto set = sets.rbegin(); set != sets.rend(); ++set) {
    for (auto node = set->rbegin(); node != set->rend() && rest.size() < size; ++node) {
      rest.push_back(*node);
    }
  }
  sets.push_back(std::move(rest));
  return sets;
}

}  // namespace assay::coordinator
