// Ranks the nodes and links that several measurements and failures point at.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/pair_model.h"

namespace assay::analysis {

// A pair of nodes that was measured, or that should have been and failed. The order of the two
// nodes has no meaning.
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

// Returns the nodes that explain the failed pairs, the one with the most failures first. A node
// explains its failures if all of its pairs failed and there are at least two, or if more than half
// failed and these are at least three. A pair that one node explains does not count for another.
// If every pair failed, no node can be told from the others, and the result is empty.
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

// Returns what is certainly bad in any of `analyses` and what failed, most likely first: nodes
// before links, failures before slowness, then by the number of analyses. Failed pairs that a
// failing node explains are not listed.
std::vector<Suspect> RankSuspects(const std::vector<PairAnalysis>& analyses,
                                  const std::vector<TriedPair>& tried);

}  // namespace assay::analysis
