#include "agent/core/peer_node.h"

#include "common/leading_rank.h"

namespace assay::agent {

std::optional<int> NodeOfRank(int rank, const v1::JobSpec& spec) {
  const int nodes = spec.node_names_size();
  if (nodes < 2 || spec.world_size() % nodes != 0) return std::nullopt;
  if (rank < 0 || rank >= spec.world_size()) return std::nullopt;
  // Ranks are numbered node by node.
  return rank / (spec.world_size() / nodes);
}

std::optional<int> SilentNode(const std::string& message, const v1::JobSpec& spec) {
  const std::optional<LeadingRank> rank = LeadingRankOf(message);
  if (!rank || message.compare(rank->end, 1, ":") == 0) return std::nullopt;
  return NodeOfRank(rank->rank, spec);
}

std::string NamePeersNode(const std::string& message, const v1::JobSpec& spec) {
  const std::optional<LeadingRank> rank = LeadingRankOf(message);
  const std::optional<int> node = rank ? NodeOfRank(rank->rank, spec) : std::nullopt;
  if (!node) return message;
  return message.substr(0, rank->end) + " on node " + spec.node_names(*node) +
         message.substr(rank->end);
}

}  // namespace assay::agent
