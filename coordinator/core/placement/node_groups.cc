#include "coordinator/core/placement/node_groups.h"

#include <algorithm>

namespace assay::coordinator {

std::vector<NodeIds> ConsecutiveGroups(const NodeIds& nodes, size_t size) {
  std::vector<NodeIds> groups;
  for (size_t first = 0; first < nodes.size(); first += size) {
    const auto begin =
        nodes.begin() + static_cast<std::ptrdiff_t>(std::min(first, nodes.size() - size));
    groups.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(size));
  }
  return groups;
}

std::vector<NodeIds> TournamentPairs(const NodeIds& nodes) {
  std::vector<NodeIds> pairs;
  if (nodes.size() < 2) return pairs;
  // One place is fixed and the others rotate around it. With an odd number of nodes the place
  // beyond the last is empty, and its opponent has no pair in this round.
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

int64_t PairCount(size_t nodes) {
  const auto count = static_cast<int64_t>(nodes);
  return count * (count - 1) / 2;
}

}  // namespace assay::coordinator
