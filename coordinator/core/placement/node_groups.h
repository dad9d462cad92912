// How a fleet divides into gangs of nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay::coordinator {

using NodeIds = std::vector<std::string>;

// Groups of `size` neighbours of `nodes`, the last group taking the last `size` nodes, so
// that every node is covered. `nodes` has at least `size`.
std::vector<NodeIds> ConsecutiveGroups(const NodeIds& nodes, size_t size);

// Every pair of `nodes` once, in the rounds of a tournament by the circle method: the
// pairs of one round have no node in common, so that they can run at once.
std::vector<NodeIds> TournamentPairs(const NodeIds& nodes);

// How many pairs `nodes` nodes have.
int64_t PairCount(size_t nodes);

}  // namespace assay::coordinator
