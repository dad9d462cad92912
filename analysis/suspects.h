// Ranks the nodes and links that several measurements and failures point at.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/pair_model.h"

namespace assay::analysis {

// A pair of nodes between which a measurement was attempted. The order of the two nodes is ignored.
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

// Returns the nodes that probably caused the failures of pairs, those with the most failures first.
// Includes a node if
//   - at least two of its pairs were tried and all of them failed, or
//   - at least three of its pairs failed, and more than half of its pairs failed.
// A failure attributed to one node is not counted against the other node of the pair. If every pair
// failed, returns an empty list, because no node differs from the others.
std::vector<FailingNode> FailingNodes(const std::vector<TriedPair>& tried);

// A node or link to check.
struct Suspect {
  size_t a = 0;
  size_t b = 0;  // Equal to `a` for a node.
  // True if pairs failed. False if the node or link is only slow.
  bool failed = false;
  // Indices of the analyses in which the node or link is bad.
  std::vector<size_t> analyses;

  bool is_node() const { return a == b; }
};

// Returns the nodes and links that a user should check: those that are certainly bad in one of
// `analyses`, and those that failed in `tried`. Omits failed pairs that a failing node explains.
// Lists nodes before links, then failures before slowness, and then suspects by the number of
// analyses in which they are bad, largest first.
std::vector<Suspect> RankSuspects(const std::vector<PairAnalysis>& analyses,
                                  const std::vector<TriedPair>& tried);

}  // namespace assay::analysis
