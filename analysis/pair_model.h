// Finds bad nodes and bad links in measurements between pairs of nodes.
//
// The model: log(value between i and j) = mean + effect of i + effect of j + deviation of the link.
// A node's effect applies to all of its links; what is left belongs to the link. If most pairs were
// measured in both directions, a node has one effect as a sender and one as a receiver.
//
// Counts, and other values that can be 0 and are better when lower, have no useful logarithm. For
// them the model is additive in the values themselves, and deficits are in their unit.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace assay::analysis {

// One measured pair of nodes, each identified by a number of the caller's choice. Numbers should be
// small: memory grows with the largest.
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
  // Margin by which something bad is worse than the others: 0.10 is 10%. For an additive
  // model it is a fraction of the mean value.
  double threshold = 0.10;
  // The values are counts, such as retransmitted segments.
  bool is_count = false;
};

enum class NodeSide { kBoth, kSending, kReceiving };

// A node whose links are worse than those of the other nodes.
struct BadNode {
  size_t node = 0;
  NodeSide side = NodeSide::kBoth;
  // Margin to the median node: 0.43 is 43% lower, or higher if lower is better. In the
  // values' unit if the model is additive.
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
  // Nodes with fewer than three measured links, whose effect cannot be told from a bad link. With
  // fewer than four nodes these are all nodes.
  std::vector<size_t> unjudged_nodes;
  // One per value given, in order.
  std::vector<JudgedValue> values;
  // Standard deviation of a value around the model.
  double noise = 0;
  // PairRule::threshold as a deficit.
  double threshold = 0;
  // The smallest deficits that make a node (with the most links) or a link bad: the threshold, or
  // more if the noise hides it.
  double node_limit = 0;
  double link_limit = 0;

  // Returns whether a node or link that is worse by the threshold could hide in the noise.
  bool NoiseHidesThreshold() const;
  // Returns the verdict on the values given. Pairs without a value are the caller's to judge.
  Verdict verdict() const;
};

// Judges `values`, which may be in any order and incomplete. Each direction of a pair occurs at
// most once.
PairAnalysis AnalyzePairs(const std::vector<PairValue>& values, const PairRule& rule);

}  // namespace assay::analysis
