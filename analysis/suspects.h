// Ranks the nodes and links that several measurements and failures point at.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/pair_model.h"

namespace assay::analysis {

// A pair of nodes between which a measurement was attempted. The order of the two nodes has no
// meaning.
struct TriedPair {
  size_t a = 0;
  size_t b = 0;
  bool failed = false;
};

// A node that explains the failures of its pairs.
struct FailingNode {
  size_t node = 0;
  size_t failed = 0;  // Pairs of the node that failed,
  size_t pairs = 0;   // out of so many.
};

// Returns the nodes that probably caused the failed pairs, the node with the most failures first. A
// node is returned if
//   - all of its pairs failed, and there are at least two, or
//   - more than half of its pairs failed, and these are at least three.
// A pair that is attributed to one node does not count for another. If every pair failed, returns
// nothing, because no node differs from the others.
std::vector<FailingNode> FailingNodes(const std::vector<TriedPair>& tried);

// A node or link to check.
struct Suspect {
  size_t a = 0;
  size_t b = 0;  // Equal to `a` for a node.
  // Pairs failed; otherwise it is only slow.
  bool failed = false;
  // Indices of the analyses in which it is bad.
  std::vector<size_t> analyses;

  bool is_node() const { return a == b; }
};

// Returns the nodes and links that a user should check, most likely first. These are everything
// that is certainly bad in one of `analyses`, and the failures in `tried`. Nodes come before links,
// then failures before slowness, then those that are bad in more analyses. Leaves out failed pairs
// that a failing node explains.
std::vector<Suspect> RankSuspects(const std::vector<PairAnalysis>& analyses,
                                  const std::vector<TriedPair>& tried);

}  // namespace assay::analysis
