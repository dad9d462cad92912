#include "coordinator/core/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "coordinator/core/text.h"

namespace assay::coordinator {
namespace {

const std::string& IdOf(const v1::Node& node) { return node.description().node_id(); }

std::vector<std::string> IdsOf(const std::vector<v1::Node>& nodes) {
  std::vector<std::string> ids;
  for (const v1::Node& node : nodes) ids.push_back(IdOf(node));
  return ids;
}

std::set<int> GpusOf(const v1::Node& node) {
  std::set<int> indices;
  for (const v1::GpuInventory& gpu : node.description().inventory().gpus()) {
    indices.insert(gpu.index());
  }
  return indices;
}

// Empty if the node can run the benchmark in exactly this version.
std::string WhyNot(const v1::BenchmarkSchema& schema, const v1::Node& node) {
  for (const v1::BenchmarkSchema& own : node.description().benchmarks()) {
    if (own.name() != schema.name()) continue;
    if (own.version() != schema.version()) {
      return fmt::format("has version {} of it, and the fleet's newest is {}; upgrade the node",
                         own.version(), schema.version());
    }
    return own.unsupported_reason();
  }
  return "its runner does not have it";
}

bool HasAll(const std::set<int>& present, const std::vector<int>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(),
                     [&](int index) { return present.count(index) > 0; });
}

// The GPUs that `ranks` ranks use on every node: the first ones given, else 0..R-1.
std::vector<int> FirstGpus(const PlacementRequest& request) {
  std::vector<int> indices = request.gpu_indices;
  if (indices.empty()) {
    for (int i = 0; i < request.ranks; ++i) indices.push_back(i);
  }
  indices.resize(static_cast<size_t>(request.ranks));
  return indices;
}

std::vector<Placement> PlaceOnNodes(const PlacementRequest& request,
                                    const std::vector<v1::Node>& nodes,
                                    const std::vector<int>& gpu_indices) {
  if (request.policy == v1::PLACEMENT_POLICY_ANY) return {{1, IdsOf(nodes), gpu_indices}};
  std::vector<Placement> placements;
  for (const v1::Node& node : nodes) placements.push_back({1, {IdOf(node)}, gpu_indices});
  return placements;
}

// One rank: every GPU is a placement of its own.
std::vector<Placement> PlaceOnEachGpu(const PlacementRequest& request,
                                      const std::vector<v1::Node>& nodes) {
  std::vector<Placement> placements;
  for (const v1::Node& node : nodes) {
    for (const int index : GpusOf(node)) {
      const auto& wanted = request.gpu_indices;
      if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), index) == wanted.end()) {
        continue;
      }
      placements.push_back({1, {IdOf(node)}, {index}});
    }
  }
  return placements;
}

std::vector<Placement> PlaceOnGpus(const PlacementRequest& request,
                                   const std::vector<v1::Node>& nodes, Violations& violations) {
  std::set<int> present;
  size_t most = 0;
  for (const v1::Node& node : nodes) {
    const std::set<int> own = GpusOf(node);
    present.insert(own.begin(), own.end());
    most = std::max(most, own.size());
  }
  bool known = true;
  for (const int index : request.gpu_indices) {
    if (present.count(index) > 0) continue;
    known = false;
    violations.Add(request.path + ".gpus",
                   present.empty()
                       ? fmt::format("no matching node has GPU {}: none has a GPU", index)
                       : fmt::format("no matching node has GPU {}; the highest index is {}", index,
                                     *present.rbegin()),
                   request.line);
  }
  if (!known) return {};
  const auto ranks = static_cast<size_t>(request.ranks);
  if (!request.gpu_indices.empty() && request.gpu_indices.size() < ranks) {
    violations.Add(request.path + ".ranks",
                   fmt::format("{} ranks need {} GPUs, and only {} are listed", ranks, ranks,
                               request.gpu_indices.size()),
                   request.line);
    return {};
  }
  if (ranks == 1 && request.policy != v1::PLACEMENT_POLICY_ANY) {
    std::vector<Placement> placements = PlaceOnEachGpu(request, nodes);
    if (placements.empty()) {
      violations.Add(request.path, "no matching node has a GPU", request.line);
    }
    return placements;
  }
  const std::vector<int> indices = FirstGpus(request);
  std::vector<v1::Node> enough;
  std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(enough),
               [&](const v1::Node& node) { return HasAll(GpusOf(node), indices); });
  if (enough.empty()) {
    violations.Add(request.path + (request.schema.collective() ? ".ranks" : ""),
                   fmt::format("{} rank{} on GPUs of one node: the most that any matching node "
                               "has is {} GPU{}",
                               ranks, ranks == 1 ? "" : "s", most, most == 1 ? "" : "s"),
                   request.line);
    return {};
  }
  return PlaceOnNodes(request, enough, indices);
}

std::vector<Placement> PlaceOnNetwork(const PlacementRequest& request,
                                      const std::vector<v1::Node>& nodes, Violations& violations) {
  const auto ranks = static_cast<size_t>(request.ranks);
  if (nodes.size() < ranks) {
    std::vector<std::string> names;
    for (const v1::Node& node : nodes) names.push_back(node.description().name());
    violations.Add(request.path + ".ranks",
                   fmt::format("{} ranks need {} nodes, and {} match: {}", ranks, ranks,
                               nodes.size(), JoinSome(names)),
                   request.line);
    return {};
  }
  const std::vector<std::string> ids = IdsOf(nodes);
  if (request.policy == v1::PLACEMENT_POLICY_ANY) return {{request.ranks, ids, {}}};
  std::vector<Placement> placements;
  for (size_t first = 0; first < ids.size(); first += ranks) {
    const auto begin =
        ids.begin() + static_cast<std::ptrdiff_t>(std::min(first, ids.size() - ranks));
    placements.push_back({request.ranks, {begin, begin + request.ranks}, {}});
  }
  return placements;
}

}  // namespace

std::vector<v1::Node> EligibleNodes(const v1::BenchmarkSchema& schema,
                                    const std::vector<v1::Node>& nodes, const std::string& path,
                                    int line, Violations& violations) {
  std::vector<v1::Node> eligible;
  std::vector<std::string> reasons;
  for (const v1::Node& node : nodes) {
    const std::string reason = WhyNot(schema, node);
    if (reason.empty()) {
      eligible.push_back(node);
    } else {
      reasons.push_back(node.description().name() + ": " + reason);
    }
  }
  if (eligible.empty()) {
    violations.Add(path, "no matching node can run " + schema.name() + ": " + JoinSome(reasons),
                   line);
  }
  std::sort(eligible.begin(), eligible.end(), [](const v1::Node& a, const v1::Node& b) {
    return a.description().name() < b.description().name();
  });
  return eligible;
}

std::vector<Placement> Place(const PlacementRequest& request, const std::vector<v1::Node>& nodes,
                             Violations& violations) {
  switch (request.schema.resource()) {
    case v1::RESOURCE_KIND_CPU:
      return PlaceOnNodes(request, nodes, {});
    case v1::RESOURCE_KIND_GPU:
      return PlaceOnGpus(request, nodes, violations);
    case v1::RESOURCE_KIND_NETWORK:
      return PlaceOnNetwork(request, nodes, violations);
    default:
      violations.Add(request.path, request.schema.name() + " declares no known resource",
                     request.line);
      return {};
  }
}

}  // namespace assay::coordinator
