#include "agent/core/peer_node.h"

#include <set>
#include <string_view>
#include <vector>

#include "common/leading_rank.h"
#include "common/text.h"

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

std::string NamePeersNodes(const std::string& message, const v1::JobSpec& spec) {
  std::string named;
  std::string_view rest = message;
  for (size_t at = 0; (at = rest.find("rank ", at)) != std::string_view::npos;) {
    const bool word = at == 0 || rest[at - 1] == ' ';
    const std::optional<LeadingRank> rank = word ? LeadingRankOf(rest.substr(at)) : std::nullopt;
    const std::optional<int> node = rank ? NodeOfRank(rank->rank, spec) : std::nullopt;
    if (!node) {
      ++at;
      continue;
    }
    named.append(rest.substr(0, at + rank->end)).append(" on node " + spec.node_names(*node));
    rest.remove_prefix(at + rank->end);
    at = 0;
  }
  return named.append(rest);
}

std::string NotCome(const google::protobuf::RepeatedField<int32_t>& ranks,
                    const v1::JobSpec& spec) {
  constexpr size_t kMost = 16;
  std::vector<std::string> named;
  for (const int rank : std::set<int>(ranks.begin(), ranks.end())) {
    if (rank < 1 || rank >= spec.world_size()) continue;
    named.push_back(NamePeersNodes("rank " + std::to_string(rank), spec));
  }
  return named.empty() ? "" : "; not come: " + JoinSome(named, kMost);
}

}  // namespace assay::agent
