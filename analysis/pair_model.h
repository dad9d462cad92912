// Finds bad nodes and bad links in measurements between pairs of nodes. The model is
//   log(value from i to j) = mean + effect of i + effect of j + deviation of the link from i to j.
// The effect of a node is common to all of its links. The rest is the link's own deviation. If most
// pairs were measured in both directions, a node has one effect as a sender and another as a
// receiver. Values that can be 0, such as error counts, have no logarithm, so for these, an
// additive model of the values themselves is used.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace assay::analysis {

// A measurement between two nodes, which are numbered by the caller. The numbers should be small,
// because memory use grows with the largest one.
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
  // The deficit at which a node or link is considered bad, where 0.10 means 10% worse than the
  // others. If the values are counts, this is a fraction of the mean count.
  double threshold = 0.10;
  // The values are counts, such as retransmitted segments.
  bool is_count = false;
};

enum class NodeSide { kBoth, kSending, kReceiving };

// A node whose links are worse than those of the other nodes.
struct BadNode {
  size_t node = 0;
  NodeSide side = NodeSide::kBoth;
  // The amount by which this node is worse than the median node. For example, 0.43 means that its
  // values are 43% lower, or 43% higher if lower values are better. For counts, it is in the unit
  // of the values.
  double deficit = 0;
  // Number of links that are worse by the threshold or more, and of all measured links of the node.
  size_t bad_links = 0;
  size_t links = 0;
  // False if the standard errors of the node's own values could explain the deficit.
  bool certain = true;
};

// A link that is worse than the other links of both of its nodes.
struct BadLink {
  size_t from = 0;
  size_t to = 0;
  // True if only the direction from `from` to `to` is known to be bad.
  bool one_way = false;
  // Deficit, as in BadNode, from the value that the effects of the two nodes predict.
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
  // True if nodes have separate effects as senders and as receivers.
  bool directed = false;
  // True if deficits, `noise` and the limits are in the unit of the measured values. False if they
  // are fractions.
  bool additive = false;
  // Sorted: certain findings before uncertain ones, and the worst first among equals.
  std::vector<BadNode> nodes;
  std::vector<BadLink> links;
  // Nodes with fewer than three measured links, too few to distinguish a bad node from a bad link.
  // If there are fewer than four nodes, this list contains all of them.
  std::vector<size_t> unjudged_nodes;
  // One per value given, in order.
  std::vector<JudgedValue> values;
  // Standard deviation of a value around the model.
  double noise = 0;
  // PairRule::threshold as a deficit.
  double threshold = 0;
  // The smallest deficit at which a node (`node_limit`) or a link (`link_limit`) is considered bad.
  // Normally `threshold`, but higher if noise could cause a deficit of that size. `node_limit`
  // applies to the nodes with the most links; nodes with fewer links may have a higher limit.
  double node_limit = 0;
  double link_limit = 0;

  // Returns whether the noise could hide a node or link that is worse by the threshold.
  bool NoiseHidesThreshold() const;
  // Returns the verdict on the values that were given. The caller must judge pairs without a value.
  Verdict verdict() const;
};

// Finds bad nodes and bad links in measurements between pairs of nodes. `values` may be in any
// order and need not cover all pairs, but must not contain the same direction of a pair twice.
PairAnalysis AnalyzePairs(const std::vector<PairValue>& values, const PairRule& rule);

}  // namespace assay::analysis
