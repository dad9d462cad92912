// Finds bad nodes, and bad links between two nodes, in measurements between pairs of nodes. The
// model is
//   log(value from i to j) = mean + effect of i + effect of j + deviation of the link from i to j.
// A node's effect is common to all of its links; the rest is the link's own deviation. If most
// pairs were measured in both directions, a node has one effect as sender and another as receiver.
// Values that can be 0, such as error counts, have no logarithm. For them, an additive model uses
// the values themselves.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace assay::analysis {

// A measurement between two nodes. The caller numbers the nodes. Numbers should be small, because
// memory use grows with the largest one.
struct PairValue {
  size_t from = 0;
  size_t to = 0;
  // Never negative; positive if higher is better.
  double value = 0;
  // Standard error in the unit of `value`, if known.
  std::optional<double> error;
};

struct PairRule {
  bool higher_is_better = true;
  // How much worse than the others a node or link must be to count as bad: 0.10 means 10%. For
  // counts, this is a fraction of the mean count.
  double threshold = 0.10;
  // The values are counts, such as retransmitted segments.
  bool is_count = false;
};

enum class NodeSide { kBoth, kSending, kReceiving };

// A node whose links are worse than those of the other nodes.
struct BadNode {
  size_t node = 0;
  NodeSide side = NodeSide::kBoth;
  // How much worse this node is than the median node. 0.43 means that its values are 43% lower, or
  // 43% higher if lower values are better. For counts, the deficit has the unit of the values.
  double deficit = 0;
  // Links that are worse by the threshold, and all measured links of the node.
  size_t bad_links = 0;
  size_t links = 0;
  // False if the standard errors of the node's own values could explain the deficit.
  bool certain = true;
};

// A link that is worse than both of its nodes are with others.
struct BadLink {
  size_t from = 0;
  size_t to = 0;
  // Only the direction from `from` to `to` is known to be bad.
  bool one_way = false;
  // As BadNode::deficit, relative to the value that the two nodes' effects predict.
  double deficit = 0;
  // False if the standard error of the link's own value could explain the deficit.
  bool certain = true;
};

enum class PairVerdict {
  kOk,
  kBadNode,    // One of its nodes is bad.
  kBadLink,    // The link itself is bad.
  kUncertain,  // Its node or link would be bad if its own values were more certain.
  kUnjudged    // One of its nodes has too few measured links.
};

struct JudgedValue {
  PairVerdict verdict = PairVerdict::kUnjudged;
  // The value that the effects of both nodes predict; absent for kUnjudged.
  std::optional<double> expected;
};

enum class Verdict {
  kClear,      // Everything was judged, and nothing is worse by the threshold.
  kUndecided,  // Nothing is bad, but something could not be judged or is uncertain.
  kBad         // A node or link is bad.
};

struct PairAnalysis {
  // Senders and receivers were told apart.
  bool directed = false;
  // Deficits, `noise` and the limits are in the values' unit instead of relative.
  bool additive = false;
  // Certain ones first, then the worst first.
  std::vector<BadNode> nodes;
  std::vector<BadLink> links;
  // Nodes with fewer than three measured links, which are too few to tell a bad node from a bad
  // link. If there are fewer than four nodes, all of them are listed here.
  std::vector<size_t> unjudged_nodes;
  // One per value given, in order.
  std::vector<JudgedValue> values;
  // Standard deviation of a value around the model.
  double noise = 0;
  // PairRule::threshold as a deficit.
  double threshold = 0;
  // The smallest deficit for which a node (`node_limit`) or a link (`link_limit`) counts as bad. It
  // equals `threshold`, or is larger if noise would hide a deficit of that size. `node_limit` holds
  // for nodes with the maximum number of links.
  double node_limit = 0;
  double link_limit = 0;

  // Returns whether a node or link that is worse by the threshold could hide in the noise.
  bool NoiseHidesThreshold() const;
  // Returns the verdict on the values given. Pairs without a value are the caller's to judge.
  Verdict verdict() const;
};

// Finds bad nodes and bad links in measurements between pairs of nodes. `values` may be in any
// order and need not cover all pairs, but must not contain the same direction of a pair twice.
PairAnalysis AnalyzePairs(const std::vector<PairValue>& values, const PairRule& rule);

}  // namespace assay::analysis
