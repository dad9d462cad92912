// Divides a fleet into gangs of nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay::coordinator {

using NodeIds = std::vector<std::string>;

// Returns consecutive groups of `size` nodes. The last group consists of the last `size` nodes, so
// that every node is covered. `nodes` must have at least `size` elements.
std::vector<NodeIds> ConsecutiveGroups(const NodeIds& nodes, size_t size);

// Returns every pair of `nodes` once, in the rounds of a tournament (circle method). The pairs of
// one round have no node in common, so they can run at the same time.
std::vector<NodeIds> TournamentPairs(const NodeIds& nodes);

// Returns the number of pairs of `nodes` nodes.
int64_t PairCount(size_t nodes);

}  // namespace assay::coordinator
