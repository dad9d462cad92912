#include "agent/core/peer_node.h"

#include <charconv>
#include <cstddef>
#include <string_view>

namespace assay::agent {
namespace {

constexpr std::string_view kRank = "rank ";

struct LeadingRank {
  int node = 0;    // That it is on.
  size_t end = 0;  // In the message.
};

std::optional<LeadingRank> LeadingRankOf(const std::string& message, const v1::JobSpec& spec) {
  if (!message.starts_with(kRank)) return std::nullopt;
  int rank = 0;
  const char* const end = message.data() + message.size();
  const auto [rest, error] = std::from_chars(message.data() + kRank.size(), end, rank);
  const std::optional<int> node = error == std::errc() ? NodeOfRank(rank, spec) : std::nullopt;
  if (!node) return std::nullopt;
  return LeadingRank{*node, static_cast<size_t>(rest - message.data())};
}

}  // namespace

std::optional<int> NodeOfRank(int rank, const v1::JobSpec& spec) {
  const int nodes = spec.node_names_size();
  if (nodes < 2 || spec.world_size() % nodes != 0) return std::nullopt;
  if (rank < 0 || rank >= spec.world_size()) return std::nullopt;
  // Ranks are numbered node by node.
  return rank / (spec.world_size() / nodes);
}

std::optional<int> SilentNode(const std::string& message, const v1::JobSpec& spec) {
  const std::optional<LeadingRank> rank = LeadingRankOf(message, spec);
  if (!rank || message.compare(rank->end, 1, ":") == 0) return std::nullopt;
  return rank->node;
}

std::string NamePeersNode(const std::string& message, const v1::JobSpec& spec) {
  const std::optional<LeadingRank> rank = LeadingRankOf(message, spec);
  if (!rank) return message;
  return message.substr(0, rank->end) + " on node " + spec.node_names(rank->node) +
         message.substr(rank->end);
}

}  // namespace assay::agent
