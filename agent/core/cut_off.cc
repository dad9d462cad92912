#include "agent/core/cut_off.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <vector>

#include "agent/core/peer_node.h"
#include "common/text.h"

namespace assay::agent {
namespace {

using Ranks = google::protobuf::RepeatedField<int32_t>;

// Without `own`, and what is no rank of the gang.
std::set<int> NodesOf(const Ranks& ranks, int own, const v1::JobSpec& spec) {
  std::set<int> nodes;
  for (const int rank : ranks) {
    const std::optional<int> node = NodeOfRank(rank, spec);
    if (node && *node != own) nodes.insert(*node);
  }
  return nodes;
}

std::string NamesOf(const std::set<int>& nodes, const v1::JobSpec& spec) {
  constexpr size_t kMost = 16;
  std::vector<std::string> names;
  for (const int node : nodes) names.push_back(spec.node_names(node));
  return JoinSome(names, kMost);
}

}  // namespace

std::optional<CutOff> FindCutOff(const v1::RunnerAborted& aborted, int rank,
                                 const v1::JobSpec& spec) {
  const std::optional<int> own = NodeOfRank(rank, spec);
  if (!own) return std::nullopt;
  const std::set<int> heard = NodesOf(aborted.heard_ranks(), *own, spec);
  std::set<int> silent = NodesOf(aborted.silent_ranks(), *own, spec);
  std::set<int> absent = NodesOf(aborted.absent_ranks(), *own, spec);
  // A host that answers one rank's beats is there, whatever became of the others.
  for (const int node : heard) {
    silent.erase(node);
    absent.erase(node);
  }
  for (const int node : silent) absent.erase(node);
  if (silent.empty() && absent.empty()) return std::nullopt;
  const int first = silent.empty() ? *absent.begin() : *silent.begin();
  const size_t others = static_cast<size_t>(spec.node_names_size()) - 1;
  const std::string here = "node " + spec.node_names(*own);
  if (!heard.empty()) {
    const std::set<int>& away = silent.empty() ? absent : silent;
    const bool one = away.size() == 1;
    return CutOff{first, (one ? "node " : "nodes ") + NamesOf(away, spec) + (one ? " is" : " are") +
                             " cut off from the gang: " + here + " hears " +
                             std::to_string(heard.size()) + " of the " + std::to_string(others) +
                             " others, and not " + (one ? "it" : "them")};
  }
  const bool late_and_one_silent = silent.size() == 1 && !absent.empty();
  if (others > 1 && silent.size() + absent.size() == others && !late_and_one_silent) {
    return CutOff{*own, here + " is cut off from the gang: it hears none of the others"};
  }
  const auto [lower, higher] = std::minmax(*own, first);
  return CutOff{
      std::nullopt,
      "nodes " + spec.node_names(lower) + " and " + spec.node_names(higher) +
          " do not reach each other: either may be cut off" +
          (late_and_one_silent ? ", and node " + spec.node_names(*absent.begin()) + " has not come"
                               : "")};
}

}  // namespace assay::agent
