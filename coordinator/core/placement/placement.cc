#include "coordinator/core/placement/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "common/text.h"
#include "coordinator/core/placement/gang_sets.h"
#include "coordinator/core/placement/gang_versions.h"
#include "coordinator/core/placement/node_groups.h"

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

// Returns an empty text if the node can run exactly this version of the benchmark, else the reason.
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

Placements Listed(std::vector<Placement> list) {
  const auto count = static_cast<int64_t>(list.size());
  return {std::move(list), count, {}};
}

// Returns no placement because nodes or GPUs are lacking. `field` is ".ranks" of the entry, or ""
// for the entry itself.
Placements Lacking(const PlacementRequest& request, const std::string& field,
                   std::string description) {
  return {{}, 0, Violation{request.path + field, std::move(description), request.line}};
}

// Returns the GPUs that `count` ranks use on a node: the first of those given, else those from 0
// on.
std::vector<int> FirstGpus(const PlacementRequest& request, int count) {
  std::vector<int> indices = request.gpu_indices;
  if (indices.empty()) {
    for (int i = 0; i < count; ++i) indices.push_back(i);
  }
  indices.resize(static_cast<size_t>(count));
  return indices;
}

// Checks that PAIRS asks for two nodes; `parameter` holds the number.
bool PairsFit(const PlacementRequest& request, int nodes, const std::string& parameter,
              Violations& violations) {
  if (request.policy != v1::PLACEMENT_POLICY_PAIRS || nodes == 2) return true;
  violations.Add(request.path + (parameter.empty() ? "" : "." + parameter),
                 fmt::format("placement: pairs measures two nodes at a time, and {} runs on {}{}",
                             request.schema.name(), nodes == 1 ? "one" : std::to_string(nodes),
                             parameter.empty() ? "" : "; set " + parameter + " to 2"),
                 request.line);
  return false;
}

void AddGpuMismatch(const PlacementRequest& request, const std::string& field,
                    const std::string& needed, const std::string& mismatch,
                    Violations& violations) {
  violations.Add(request.path + field,
                 needed + " are needed, and " + mismatch +
                     "; choose nodes by `nodes`, for example `gpu.model = H200`, or set "
                     "`mixed_gpus: true`",
                 request.line);
}

std::vector<Placement> PlaceOnNodes(const PlacementRequest& request,
                                    const std::vector<v1::Node>& nodes,
                                    const std::vector<int>& gpu_indices) {
  if (request.policy == v1::PLACEMENT_POLICY_ANY) return {{1, IdsOf(nodes), gpu_indices}};
  std::vector<Placement> placements;
  for (const v1::Node& node : nodes) placements.push_back({1, {IdOf(node)}, gpu_indices});
  return placements;
}

// Places a single rank: every GPU is a placement of its own.
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

// Returns false after a violation: the listed GPUs exist on no node, or are too few.
bool CheckListedGpus(const PlacementRequest& request, const std::vector<v1::Node>& nodes,
                     size_t needed, Violations& violations) {
  std::set<int> present;
  for (const v1::Node& node : nodes) present.merge(GpusOf(node));
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
  if (!known) return false;
  if (request.gpu_indices.empty() || request.gpu_indices.size() >= needed) return true;
  violations.Add(
      request.path + ".ranks",
      fmt::format("{} ranks{} need {} GPUs, and only {} are listed", needed,
                  request.nodes > 1 ? " a node" : "", needed, request.gpu_indices.size()),
      request.line);
  return false;
}

Placements PlaceOnGpus(const PlacementRequest& request, const std::vector<v1::Node>& nodes,
                       Violations& violations) {
  const auto ranks = static_cast<size_t>(request.ranks);
  if (!CheckListedGpus(request, nodes, ranks, violations)) return {};
  if (ranks == 1 && request.policy != v1::PLACEMENT_POLICY_ANY) {
    std::vector<Placement> placements = PlaceOnEachGpu(request, nodes);
    if (placements.empty()) return Lacking(request, "", "no matching node has a GPU");
    return Listed(std::move(placements));
  }
  const std::vector<int> indices = FirstGpus(request, request.ranks);
  std::vector<v1::Node> enough;
  size_t most = 0;
  for (const v1::Node& node : nodes) {
    const std::set<int> own = GpusOf(node);
    most = std::max(most, own.size());
    if (HasAll(own, indices)) enough.push_back(node);
  }
  if (enough.empty()) {
    return Lacking(request, request.schema.collective() ? ".ranks" : "",
                   fmt::format("{} rank{} on GPUs of one node: the most that any matching node "
                               "has is {} GPU{}",
                               ranks, ranks == 1 ? "" : "s", most, most == 1 ? "" : "s"));
  }
  std::vector<v1::Node> alike = OfOneModel(enough, indices);
  const bool any = request.policy == v1::PLACEMENT_POLICY_ANY;
  if (alike.size() == enough.size() || (any && !alike.empty())) {
    return Listed(PlaceOnNodes(request, alike, indices));
  }
  if (request.mixed_gpus) return Listed(PlaceOnNodes(request, enough, indices));
  std::vector<v1::Node> mixed;
  std::copy_if(enough.begin(), enough.end(), std::back_inserter(mixed), [&](const v1::Node& node) {
    return !GpuMismatch({&node.description()}, indices).empty();
  });
  AddGpuMismatch(request, request.schema.collective() ? ".ranks" : "",
                 fmt::format("{} GPUs of one model", ranks),
                 GpuMismatch(DescriptionsOf(mixed), indices), violations);
  return {};
}

// Makes one job at a time on `count` of the nodes, which are enough.
Placements PlaceOnGroups(const PlacementRequest& request, const std::vector<std::string>& ids,
                         int count, const std::vector<int>& gpu_indices) {
  if (request.policy == v1::PLACEMENT_POLICY_ANY) return Listed({{count, ids, gpu_indices}});
  const bool pairs = request.policy == v1::PLACEMENT_POLICY_PAIRS;
  const auto size = static_cast<size_t>(count);
  Placements placements;
  placements.count =
      pairs ? PairCount(ids.size()) : static_cast<int64_t>((ids.size() + size - 1) / size);
  if (placements.count > request.most) return placements;
  for (NodeIds& group : pairs ? TournamentPairs(ids) : ConsecutiveGroups(ids, size)) {
    placements.list.push_back({count, std::move(group), gpu_indices});
  }
  return placements;
}

std::vector<v1::Node> NodesWith(const std::vector<v1::Node>& nodes,
                                const std::vector<int>& gpu_indices) {
  std::vector<v1::Node> having;
  std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(having),
               [&](const v1::Node& node) { return HasAll(GpusOf(node), gpu_indices); });
  return having;
}

// Describes the lack: `having` nodes have the GPUs, fewer than needed.
std::string TooFewNodes(const PlacementRequest& request, const std::vector<v1::Node>& nodes,
                        size_t having) {
  const int each = request.ranks / request.nodes;
  std::string text =
      fmt::format("{} ranks over {} nodes need {} nodes with {} each; ", request.ranks,
                  request.nodes, request.nodes, each == 1 ? "a GPU" : fmt::format("{} GPUs", each));
  text += having == nodes.size()
              ? fmt::format("{} node{}: ", having, having == 1 ? " matches" : "s match")
              : fmt::format("{} of {} matching node{} {} {}: ", having, nodes.size(),
                            nodes.size() == 1 ? "" : "s", having == 1 ? "has" : "have",
                            each == 1 ? "one" : "them");
  std::vector<std::string> found;
  for (const v1::Node& node : nodes) {
    found.push_back(fmt::format("{} has {}", node.description().name(), GpusOf(node).size()));
  }
  return text + JoinSome(found);
}

bool AnyIsUniform(const std::vector<Placement>& placements, const std::vector<v1::Node>& nodes) {
  std::map<std::string, std::string> versions;
  for (const v1::Node& node : nodes) versions[IdOf(node)] = GangVersions(node.description());
  return std::any_of(placements.begin(), placements.end(), [&](const Placement& placement) {
    const auto& ids = placement.candidate_node_ids;
    return std::all_of(ids.begin(), ids.end(),
                       [&](const auto& id) { return versions[id] == versions[ids.front()]; });
  });
}

// Returns the sets that are placed separately; at least one.
std::vector<Nodes> SetsOf(const PlacementRequest& request, const Nodes& nodes,
                          const std::vector<int>& gpu_indices) {
  const auto size = static_cast<size_t>(request.nodes);
  switch (request.policy) {
    case v1::PLACEMENT_POLICY_ANY:
      return {LargestUniform(nodes, gpu_indices, size, request.mixed_gpus)};
    case v1::PLACEMENT_POLICY_PAIRS:
      return {nodes};
    default:
      return SetsByModel(nodes, gpu_indices, size);
  }
}

// Returns every group that the policy makes of the sets; none if there are more than the limit.
Placements PlaceSets(const PlacementRequest& request, const std::vector<Nodes>& sets,
                     const std::vector<int>& gpu_indices) {
  Placements all;
  for (const Nodes& set : sets) {
    Placements one = PlaceOnGroups(request, IdsOf(set), request.nodes, gpu_indices);
    all.count += one.count;
    all.list.insert(all.list.end(), std::make_move_iterator(one.list.begin()),
                    std::make_move_iterator(one.list.end()));
  }
  if (all.count > request.most) all.list.clear();
  return all;
}

Placements PlaceOverNodes(const PlacementRequest& request, const std::vector<v1::Node>& nodes,
                          Violations& violations) {
  if (request.ranks % request.nodes != 0) {
    violations.Add(
        request.path + ".nodes",
        fmt::format("{} ranks do not spread evenly over {} nodes", request.ranks, request.nodes),
        request.line);
    return {};
  }
  if (!PairsFit(request, request.nodes, "nodes", violations)) return {};
  const int each = request.ranks / request.nodes;
  if (!CheckListedGpus(request, nodes, static_cast<size_t>(each), violations)) return {};
  const std::vector<int> indices = FirstGpus(request, each);
  const std::vector<v1::Node> having = NodesWith(nodes, indices);
  if (having.size() < static_cast<size_t>(request.nodes)) {
    return Lacking(request, ".nodes", TooFewNodes(request, nodes, having.size()));
  }
  const bool any = request.policy == v1::PLACEMENT_POLICY_ANY;
  const std::vector<Nodes> sets = SetsOf(request, having, indices);
  const bool one_model = std::all_of(sets.begin(), sets.end(), [&](const auto& set) {
    return GpuMismatch(DescriptionsOf(set), indices).empty();
  });
  Placements placements;
  const bool enough = sets.front().size() >= static_cast<size_t>(request.nodes);
  if (enough && (one_model || request.mixed_gpus)) {
    placements = PlaceSets(request, sets, indices);
    const bool uniform = any || AnyIsUniform(placements.list, having);
    if (uniform || placements.count > request.most) return placements;
  }
  const std::string versions = VersionMismatch(DescriptionsOf(having));
  const std::string gpus = GpuMismatch(DescriptionsOf(having), indices);
  if (!gpus.empty() && !request.mixed_gpus && placements.count == 0) {
    AddGpuMismatch(request, ".nodes", fmt::format("{} nodes with GPUs of one model", request.nodes),
                   gpus, violations);
  }
  if (!versions.empty() && (any || placements.count > 0)) {
    violations.Add(
        request.path + ".nodes",
        fmt::format("{} nodes with the same software are needed, and {}", request.nodes, versions),
        request.line);
  }
  return {};
}

Placements PlaceOnNetwork(const PlacementRequest& request, const std::vector<v1::Node>& nodes,
                          Violations& violations) {
  if (!PairsFit(request, request.ranks, "ranks", violations)) return {};
  const auto ranks = static_cast<size_t>(request.ranks);
  if (nodes.size() < ranks) {
    std::vector<std::string> names;
    for (const v1::Node& node : nodes) names.push_back(node.description().name());
    return Lacking(request, ".ranks",
                   fmt::format("{} ranks need {} nodes; {} node{}: {}", ranks, ranks, names.size(),
                               names.size() == 1 ? " matches" : "s match", JoinSome(names)));
  }
  return PlaceOnGroups(request, IdsOf(nodes), request.ranks, {});
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

Placements Place(const PlacementRequest& request, const std::vector<v1::Node>& nodes,
                 Violations& violations) {
  switch (request.schema.resource()) {
    case v1::RESOURCE_KIND_CPU:
      if (!PairsFit(request, 1, "", violations)) return {};
      return Listed(PlaceOnNodes(request, nodes, {}));
    case v1::RESOURCE_KIND_GPU:
      if (request.nodes > 1) return PlaceOverNodes(request, nodes, violations);
      if (!PairsFit(request, 1, request.schema.collective() ? "nodes" : "", violations)) return {};
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
