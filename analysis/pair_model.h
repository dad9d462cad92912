// Which node or which link of a fleet is bad, from what was measured between every two
// nodes. Pure.
//
// The model: log(value of i and j) = mu + a_i + a_j + e_ij. Each node has an effect on all
// of its links, and what is left is the link's own (pair_fit.h). Where most pairs were measured
// both ways, a node has two effects, as a sender and as a receiver.
//
// Zero has no logarithm. Where higher is better, zero is a pair that carries nothing: it is
// bad, and not part of the fit. Where lower is better (a count of errors), zero is as good as
// can be: the model is then of the values themselves, and deficits are in their unit. So it is of
// all counts, zeros among them or not.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace assay::cli {

// One measured pair of nodes, numbered from 0.
struct PairValue {
  size_t from = 0;
  size_t to = 0;
  double value = 0;  // 0 or more.
  // Standard error of `value`, in its unit; absent if nothing tells it, as of one sample.
  std::optional<double> error;
};

struct PairRule {
  bool higher_is_better = true;
  // By how much worse something must be to be called bad, beyond the noise.
  double threshold = 0.10;
  bool counts = false;  // Segments, errors: they differ by so many.
};

enum class NodeSide { kBoth, kSending, kReceiving };

struct BadNode {
  size_t node = 0;
  NodeSide side = NodeSide::kBoth;
  // Relative to the median node: 0.43 is 43% below (above, where lower is better). In the
  // values' unit if PairAnalysis::additive.
  double deficit = 0;
  // Other nodes to which it is worse by the threshold, and those measured with it.
  size_t bad_links = 0;
  size_t links = 0;
};

struct BadLink {
  size_t from = 0;
  size_t to = 0;
  bool one_way = false;  // The other direction is fine, or was not measured.
  // Relative to what both nodes reach with others, as BadNode's.
  double deficit = 0;
};

struct PairAnalysis {
  // Below four nodes, nodes and links cannot be told apart: nothing is judged.
  bool judged = false;
  bool both_ways = false;      // Effects of sending and receiving were told apart.
  bool additive = false;       // Deficits and `noise` are in the values' unit.
  std::vector<BadNode> nodes;  // Worst first.
  std::vector<BadLink> links;  // Worst first.
  // What would be in `nodes` and `links` but for the errors of its own values, or because
  // nothing tells them while they are known of most others. Worst first.
  std::vector<BadNode> doubtful_nodes;
  std::vector<BadLink> doubtful_links;
  // With fewer than three links measured, a node's effect cannot be told from its links'.
  std::vector<size_t> unjudged_nodes;
  // Relative standard deviation of a pair around the model.
  double noise = 0;
  // The rule's threshold as a deficit: of an additive model that part of the mean.
  double threshold = 0;
  // The smallest deficits of a node (with the most links there are) and of a link that would be
  // named: the threshold, or what the noise hides.
  double node_limit = 0;
  double link_limit = 0;
  // Deficit of the node that comes last and of the link that does, named or not; absent if
  // none was judged.
  std::optional<BadNode> last_node;
  std::optional<BadLink> last_link;
  // What the model expects of each value given, in order; empty if nothing was judged.
  std::vector<double> expected;
};

// `values` in any order; any may be missing, and of the same direction the last counts. No
// number is NaN or negative.
PairAnalysis AnalyzePairs(size_t nodes, const std::vector<PairValue>& values, const PairRule& rule);

// A pair of nodes, and whether nothing came of it.
struct PairOutcome {
  size_t first = 0;
  size_t second = 0;
  bool dead = false;
};

struct DeadNode {
  size_t node = 0;
  size_t dead = 0;   // Pairs of which nothing came,
  size_t pairs = 0;  // of so many.
};

// The nodes that explain the dead pairs: those of whose pairs all are dead, two at least, or
// more than half, three at least; of what other nodes explain nothing counts again. Empty if
// all pairs are dead, for then nothing tells the nodes apart. The one with the most first.
std::vector<DeadNode> DeadNodes(const std::vector<PairOutcome>& outcomes);

}  // namespace assay::cli
