// Which node or which link of a fleet is bad, from what was measured between every two
// nodes. Pure.
//
// The model: log(value of i and j) = mu + a_i + a_j + e_ij. Each node has an effect on all
// of its links, and what is left is the link's own. Fitted by medians, as median polish
// (Tukey 1977): a minority of bad links does not move them. Where every pair was measured both
// ways, a node has two effects, as a sender and as a receiver.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace assay::cli {

// One measured pair of nodes, numbered from 0.
struct PairValue {
  size_t from = 0;
  size_t to = 0;
  double value = 0;  // Above 0.
  // Standard error of `value` over `value`; 0 if unknown.
  double relative_error = 0;
};

struct PairRule {
  bool higher_is_better = true;
  // By how much worse something must be to be called bad, beyond the noise.
  double threshold = 0.10;
};

enum class NodeSide { kBoth, kSending, kReceiving };

struct BadNode {
  size_t node = 0;
  NodeSide side = NodeSide::kBoth;
  // Relative to the median node: 0.43 is 43% below (above, where lower is better).
  double deficit = 0;
  // Other nodes to which it is worse by the threshold, and those measured with it.
  size_t bad_links = 0;
  size_t links = 0;
};

struct BadLink {
  size_t from = 0;
  size_t to = 0;
  bool one_way = false;  // The other direction is fine.
  // Relative to what both nodes reach with others.
  double deficit = 0;
};

struct PairAnalysis {
  // Below four nodes, nodes and links cannot be told apart: nothing is judged.
  bool judged = false;
  bool both_ways = false;      // Effects of sending and receiving were told apart.
  std::vector<BadNode> nodes;  // Worst first.
  std::vector<BadLink> links;  // Worst first.
  // With fewer than three links measured, a node's effect cannot be told from its links'.
  std::vector<size_t> unjudged_nodes;
  // Relative standard deviation of a pair around the model.
  double noise = 0;
  // What the model expects of each value given, in order; empty if nothing was judged.
  std::vector<double> expected;
};

// `values` in any order; any may be missing, and of the same direction the last counts. No
// number is NaN.
PairAnalysis AnalyzePairs(size_t nodes, const std::vector<PairValue>& values, const PairRule& rule);

}  // namespace assay::cli
