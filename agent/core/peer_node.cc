#include "agent/core/peer_node.h"

#include <charconv>
#include <string_view>

namespace assay::agent {

std::string NamePeersNode(const std::string& message, const v1::JobSpec& spec) {
  constexpr std::string_view kRank = "rank ";
  const int nodes = spec.node_names_size();
  if (!message.starts_with(kRank) || nodes < 2 || spec.world_size() % nodes != 0) return message;
  int rank = 0;
  const char* const end = message.data() + message.size();
  const auto [rest, error] = std::from_chars(message.data() + kRank.size(), end, rank);
  if (error != std::errc() || rank < 0 || rank >= spec.world_size()) return message;
  // Ranks are numbered node by node.
  const std::string& name = spec.node_names(rank / (spec.world_size() / nodes));
  return std::string(message.data(), rest) + " on node " + name + std::string(rest, end);
}

}  // namespace assay::agent
