#include "campaign/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "campaign/gang_network.h"
#include "campaign/gang_versions.h"
#include "common/text.h"

namespace assay::campaign {
namespace {

using Nodes = std::vector<v1::Node>;
using Ids = storage::NodeIds::List;

const std::string& IdOf(const v1::Node& node) { return node.description().node_id(); }

Ids IdsOf(const Nodes& nodes) {
  Ids ids;
  for (const v1::Node& node : nodes) ids.push_back(IdOf(node));
  return ids;
}

std::vector<const v1::NodeDescription*> DescriptionsOf(const Nodes& nodes) {
  std::vector<const v1::NodeDescription*> descriptions;
  for (const v1::Node& node : nodes) descriptions.push_back(&node.description());
  return descriptions;
}

std::set<int> GpusOf(const v1::Node& node) {
  std::set<int> indices;
  for (const v1::GpuInventory& gpu : node.description().inventory().gpus()) {
    indices.insert(gpu.index());
  }
  return indices;
}

template <typename Predicate>
Nodes Where(const Nodes& nodes, const Predicate& holds) {
  Nodes found;
  std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(found), holds);
  return found;
}

// Returns the nodes that have all GPUs with these indices.
Nodes NodesWith(const Nodes& nodes, const std::vector<int>& gpu_indices) {
  const std::set<int> wanted(gpu_indices.begin(), gpu_indices.end());
  return Where(nodes, [&](const v1::Node& node) {
    const std::set<int> own = GpusOf(node);
    return std::includes(own.begin(), own.end(), wanted.begin(), wanted.end());
  });
}

// Groups nodes for which `text_of` returns the same text. The groups are in the order of their
// first nodes.
std::vector<Nodes> GroupBy(const Nodes& nodes,
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

// Returns the largest of `sets`, or the first of several equally large ones. Returns no nodes if
// `sets` is empty.
Nodes Largest(std::vector<Nodes> sets) {
  const auto found = std::max_element(
      sets.begin(), sets.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  return found == sets.end() ? Nodes() : std::move(*found);
}

// Returns why the node cannot run exactly this version of the benchmark, or an empty string if it
// can.
std::string WhyNot(const v1::BenchmarkSchema& schema, const v1::Node& node) {
  for (const v1::BenchmarkSchema& own : node.description().benchmarks()) {
    if (own.name() != schema.name()) continue;
    if (own.version() != schema.version()) {
      return fmt::format(
          "has version {} of it, and the campaign uses version {}, which most of "
          "the matching nodes have",
          own.version(), schema.version());
    }
    return own.unsupported_reason();
  }
  return "its runner does not have it";
}

Placements Listed(std::vector<Placement> list) {
  const auto count = static_cast<int64_t>(list.size());
  return {std::move(list), count, {}, {}};
}

// Returns no placements, only the error `shortage`, which says that there are too few nodes or
// GPUs. `field` is the field of the campaign file that asks for too many, such as ".ranks", or
// empty if no single field does.
Placements TooFew(const PlacementRequest& request, const std::string& field,
                  std::string description) {
  return {{}, 0, Violation{request.path + field, std::move(description), request.line}, {}};
}

// Returns an error if no `count` of the nodes share a network.
std::optional<Violation> WhyUnreachable(const PlacementRequest& request, const std::string& field,
                                        const Nodes& nodes, int count) {
  const Nodes largest = Largest(GroupBy(nodes, GangNetwork));
  if (largest.size() >= static_cast<size_t>(count)) return std::nullopt;
  return Violation{request.path + field,
                   fmt::format("{} nodes that share a network are needed, and {}", count,
                               NetworkMismatch(DescriptionsOf(nodes))),
                   request.line};
}

// Returns the indices of the `count` GPUs that a job uses on a node: the first `count` GPUs that
// the user listed, or GPUs 0 to count - 1 if the user listed none.
std::vector<int> FirstGpus(const PlacementRequest& request, int count) {
  std::vector<int> indices = request.gpu_indices;
  if (indices.empty()) {
    for (int i = 0; i < count; ++i) indices.push_back(i);
  }
  indices.resize(static_cast<size_t>(count));
  return indices;
}

// Checks that the PAIRS policy, which measures two nodes at a time, is used only for jobs on two
// nodes. If not, adds a violation and returns false. `parameter` is the benchmark parameter that
// sets the number of nodes, or empty if there is none.
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

// Returns placements for jobs that run on one node and use the GPUs in `gpu_indices`. The EACH
// policy makes one placement per node, the ANY policy a single placement that allows all nodes.
std::vector<Placement> PlaceOnNodes(const PlacementRequest& request, const Nodes& nodes,
                                    const std::vector<int>& gpu_indices) {
  if (request.policy == v1::PLACEMENT_POLICY_ANY) return {{1, IdsOf(nodes), gpu_indices}};
  std::vector<Placement> placements;
  for (const v1::Node& node : nodes) placements.push_back({1, {IdOf(node)}, gpu_indices});
  return placements;
}

// Places a job with a single rank. Makes one placement per GPU.
std::vector<Placement> PlaceOnEachGpu(const PlacementRequest& request, const Nodes& nodes) {
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

// Checks the GPUs that the user listed, if any. Adds a violation and returns false if any of them
// exists on no node, or if fewer than `needed` are listed.
bool CheckListedGpus(const PlacementRequest& request, const Nodes& nodes, size_t needed,
                     Violations& violations) {
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

// Places all ranks (processes) of a job on one node, each on its own GPU. The EACH policy makes one
// placement per node, or one per GPU if the job has a single rank. The ANY policy makes one
// placement that allows any suitable node. All GPUs of a placement must be of the same model unless
// `mixed_gpus` is set.
Placements PlaceOnGpus(const PlacementRequest& request, const Nodes& nodes,
                       Violations& violations) {
  const int ranks = request.ranks;
  if (!CheckListedGpus(request, nodes, static_cast<size_t>(ranks), violations)) return {};
  const bool any = request.policy == v1::PLACEMENT_POLICY_ANY;
  if (ranks == 1 && !any) {
    std::vector<Placement> placements = PlaceOnEachGpu(request, nodes);
    if (placements.empty()) return TooFew(request, "", "no matching node has a GPU");
    return Listed(std::move(placements));
  }
  const std::string field = request.schema.collective() ? ".ranks" : "";
  const std::vector<int> indices = FirstGpus(request, ranks);
  const Nodes enough = NodesWith(nodes, indices);
  if (enough.empty()) {
    size_t most = 0;
    for (const v1::Node& node : nodes) most = std::max(most, GpusOf(node).size());
    return TooFew(request, field,
                  fmt::format("{} on GPUs of one node: the most that any matching node has is {}",
                              Counted(ranks, "rank"), Counted(static_cast<int64_t>(most), "GPU")));
  }
  const auto has_one_model = [&](const v1::Node& node) {
    return GpuMismatch({&node.description()}, indices).empty();
  };
  const Nodes alike = Where(enough, has_one_model);
  if (alike.size() == enough.size() || (any && !alike.empty())) {
    return Listed(PlaceOnNodes(request, alike, indices));
  }
  if (request.mixed_gpus) return Listed(PlaceOnNodes(request, enough, indices));
  AddGpuMismatch(request, field, fmt::format("{} GPUs of one model", ranks),
                 GpuMismatch(DescriptionsOf(Where(enough, std::not_fn(has_one_model))), indices),
                 violations);
  return {};
}

// Splits `nodes` into consecutive groups of `size` nodes. If too few nodes remain for the last
// group, it also includes nodes from the group before it. Requires at least `size` nodes.
std::vector<Ids> ConsecutiveGroups(const Ids& nodes, size_t size) {
  std::vector<Ids> groups;
  for (size_t first = 0; first < nodes.size(); first += size) {
    const auto begin =
        nodes.begin() + static_cast<std::ptrdiff_t>(std::min(first, nodes.size() - size));
    groups.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(size));
  }
  return groups;
}

// Returns every pair of nodes exactly once, in the order of a round-robin tournament. The pairs in
// a round have no nodes in common, so they can be measured at the same time.
std::vector<Ids> TournamentPairs(const Ids& nodes) {
  std::vector<Ids> pairs;
  if (nodes.size() < 2) return pairs;
  // Generate the rounds by the circle method: put the nodes in a circle of places, keep the last
  // place fixed and rotate all others. If the number of nodes is odd, the last place is empty, and
  // the node that would be paired with it sits out the round.
  const size_t places = nodes.size() + nodes.size() % 2;
  const size_t turning = places - 1;
  for (size_t round = 0; round < turning; ++round) {
    for (size_t i = 0; i < places / 2; ++i) {
      const size_t a = i == 0 ? turning : (round + i) % turning;
      const size_t b = (round + turning - i) % turning;
      if (a >= nodes.size() || b >= nodes.size()) continue;
      pairs.push_back({nodes[std::min(a, b)], nodes[std::max(a, b)]});
    }
  }
  return pairs;
}

// Places jobs on `count` nodes each. There must be at least `count` ids.
Placements PlaceOnGroups(const PlacementRequest& request, const Ids& ids, int count,
                         const std::vector<int>& gpu_indices) {
  if (request.policy == v1::PLACEMENT_POLICY_ANY) return Listed({{count, ids, gpu_indices}});
  const bool pairs = request.policy == v1::PLACEMENT_POLICY_PAIRS;
  const auto size = static_cast<size_t>(count);
  Placements placements;
  placements.count = static_cast<int64_t>(pairs ? ids.size() * (ids.size() - 1) / 2
                                                : (ids.size() + size - 1) / size);
  if (placements.count > request.most) return placements;
  for (Ids& group : pairs ? TournamentPairs(ids) : ConsecutiveGroups(ids, size)) {
    placements.list.push_back({count, std::move(group), gpu_indices});
  }
  return placements;
}

// Explains to the user that too few nodes have the required GPUs. `having` is the number of
// matching nodes that have them.
std::string TooFewNodes(const PlacementRequest& request, const Nodes& nodes, size_t having) {
  const int each = request.ranks / request.nodes;
  const auto count = static_cast<int64_t>(having);
  std::string text =
      fmt::format("{} ranks over {} nodes need {} nodes with {} each; ", request.ranks,
                  request.nodes, request.nodes, each == 1 ? "a GPU" : fmt::format("{} GPUs", each));
  text += having == nodes.size()
              ? Counted(count, "node matches", "nodes match")
              : fmt::format("{} of {} {} {}", count,
                            Counted(static_cast<int64_t>(nodes.size()), "matching node"),
                            Plural(count, "has", "have"), each == 1 ? "one" : "them");
  std::vector<std::string> found;
  for (const v1::Node& node : nodes) {
    found.push_back(fmt::format("{} has {}", node.description().name(), GpusOf(node).size()));
  }
  return text + ": " + JoinSome(found);
}

bool AnyIsUniform(const std::vector<Placement>& placements, const Nodes& nodes) {
  std::map<std::string, std::string> versions;
  for (const v1::Node& node : nodes) versions[IdOf(node)] = GangVersions(node.description());
  return std::any_of(placements.begin(), placements.end(), [&](const Placement& placement) {
    const auto& ids = placement.candidate_node_ids;
    return std::all_of(ids.begin(), ids.end(),
                       [&](const auto& id) { return versions[id] == versions[ids.front()]; });
  });
}

// Returns the largest set of nodes that can run one job together: they share a network, and have
// the same software versions and the same GPU model at all `gpu_indices`. If `mixed_gpus` is set
// and the set is too small for the job, the models may differ.
Nodes LargestUniform(const PlacementRequest& request, const Nodes& nodes,
                     const std::vector<int>& gpu_indices) {
  const Nodes one_model = Where(nodes, [&](const v1::Node& node) {
    return GpuMismatch({&node.description()}, gpu_indices).empty();
  });
  Nodes alike = Largest(GroupBy(one_model, [&](const v1::NodeDescription& node) {
    return GangNetwork(node) + GangVersions(node) + GangGpus(node, gpu_indices);
  }));
  if (!request.mixed_gpus || alike.size() >= static_cast<size_t>(request.nodes)) return alike;
  return Largest(GroupBy(nodes, [](const v1::NodeDescription& node) {
    return GangNetwork(node) + GangVersions(node);
  }));
}

// Splits `nodes` into sets for which `text_of` returns the same text. Merges sets with fewer than
// `size` nodes into a final set. If that is still too small, adds nodes from other sets to it.
// Requires at least `size` nodes.
std::vector<Nodes> SetsBy(const Nodes& nodes, size_t size,
                          const std::function<std::string(const v1::NodeDescription&)>& text_of) {
  std::vector<Nodes> sets;
  Nodes rest;
  for (Nodes& set : GroupBy(nodes, text_of)) {
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

// Splits the nodes into sets in which jobs are placed separately: one set per network and GPU model
// for the EACH policy (see SetsBy() for sets that are too small), and a single set for the other
// policies. Returns at least one set.
std::vector<Nodes> SetsOf(const PlacementRequest& request, const Nodes& nodes,
                          const std::vector<int>& gpu_indices) {
  switch (request.policy) {
    case v1::PLACEMENT_POLICY_ANY:
      return {LargestUniform(request, nodes, gpu_indices)};
    case v1::PLACEMENT_POLICY_PAIRS:
      return {nodes};
    default:
      break;
  }
  const auto size = static_cast<size_t>(request.nodes);
  std::vector<Nodes> sets;
  for (const Nodes& reachable : SetsBy(nodes, size, GangNetwork)) {
    for (Nodes& set : SetsBy(reachable, size, [&](const v1::NodeDescription& node) {
           return GangGpus(node, gpu_indices);
         })) {
      sets.push_back(std::move(set));
    }
  }
  return sets;
}

// Places jobs on `count` nodes each, separately within each of `sets`, as the policy requires. If
// there would be more than `request.most` placements, returns only their number.
Placements PlaceSets(const PlacementRequest& request, const std::vector<Nodes>& sets, int count,
                     const std::vector<int>& gpu_indices) {
  Placements all;
  for (const Nodes& set : sets) {
    Placements one = PlaceOnGroups(request, IdsOf(set), count, gpu_indices);
    all.count += one.count;
    all.list.insert(all.list.end(), std::make_move_iterator(one.list.begin()),
                    std::make_move_iterator(one.list.end()));
  }
  if (all.count > request.most) all.list.clear();
  return all;
}

// Places a GPU collective on several nodes with the same number of ranks each.
//   - EACH groups the nodes of each network and GPU model by name.
//   - ANY selects from the largest set of nodes with the same network, software and GPU model.
//   - PAIRS covers every pair of nodes.
// If every group mixes different software, adds a violation. If only some do, or if the nodes of a
// group share no network, places these as well; their jobs fail with an explanation when they are
// scheduled.
Placements PlaceOverNodes(const PlacementRequest& request, const Nodes& nodes,
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
  const Nodes having = NodesWith(nodes, indices);
  if (having.size() < static_cast<size_t>(request.nodes)) {
    return TooFew(request, ".nodes", TooFewNodes(request, nodes, having.size()));
  }
  if (auto why = WhyUnreachable(request, ".nodes", having, request.nodes)) {
    return {{}, 0, {}, std::move(why)};
  }
  const bool any = request.policy == v1::PLACEMENT_POLICY_ANY;
  const std::vector<Nodes> sets = SetsOf(request, having, indices);
  const bool one_model = std::all_of(sets.begin(), sets.end(), [&](const auto& set) {
    return GpuMismatch(DescriptionsOf(set), indices).empty();
  });
  Placements placements;
  const bool enough = sets.front().size() >= static_cast<size_t>(request.nodes);
  if (enough && (one_model || request.mixed_gpus)) {
    placements = PlaceSets(request, sets, request.nodes, indices);
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

// Places a network benchmark with one rank (process) per node. Jobs on nodes that share no network
// fail when scheduled.
//   - EACH sorts the nodes of each network by name and splits them into consecutive groups.
//   - ANY makes one placement on any nodes of the largest network.
//   - PAIRS covers every pair of nodes.
Placements PlaceOnNetwork(const PlacementRequest& request, const Nodes& nodes,
                          Violations& violations) {
  if (!PairsFit(request, request.ranks, "ranks", violations)) return {};
  if (nodes.size() < static_cast<size_t>(request.ranks)) {
    std::vector<std::string> names;
    for (const v1::Node& node : nodes) names.push_back(node.description().name());
    return TooFew(
        request, ".ranks",
        fmt::format("{} ranks need {} nodes; {}: {}", request.ranks, request.ranks,
                    Counted(static_cast<int64_t>(names.size()), "node matches", "nodes match"),
                    JoinSome(names)));
  }
  if (auto why = WhyUnreachable(request, ".ranks", nodes, request.ranks)) {
    return {{}, 0, {}, std::move(why)};
  }
  std::vector<Nodes> sets;
  if (request.policy == v1::PLACEMENT_POLICY_PAIRS) {
    sets = {nodes};
  } else if (request.policy == v1::PLACEMENT_POLICY_ANY) {
    sets = {Largest(GroupBy(nodes, GangNetwork))};
  } else {
    sets = SetsBy(nodes, static_cast<size_t>(request.ranks), GangNetwork);
  }
  return PlaceSets(request, sets, request.ranks, {});
}

}  // namespace

std::vector<v1::Node> EligibleNodes(const v1::BenchmarkSchema& schema, const Nodes& nodes,
                                    const std::string& path, int line, Violations& violations) {
  Nodes eligible;
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

Placements PlaceJobs(const PlacementRequest& request, const Nodes& nodes, Violations& violations) {
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

}  // namespace assay::campaign
