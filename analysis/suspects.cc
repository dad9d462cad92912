#include "analysis/suspects.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace assay::analysis {
namespace {

// Counts the tried and the failed pairs of each node. Ignores pairs with a node in `explained`.
std::map<size_t, FailingNode> CountPairs(const std::vector<TriedPair>& tried,
                                         const std::set<size_t>& explained) {
  std::map<size_t, FailingNode> counts;
  for (const TriedPair& pair : tried) {
    if (explained.count(pair.a) + explained.count(pair.b) > 0) continue;
    for (const size_t node : {pair.a, pair.b}) {
      FailingNode& count = counts[node];
      count.node = node;
      count.failed += pair.failed ? 1 : 0;
      ++count.pairs;
    }
  }
  return counts;
}

bool ExplainsFailures(const FailingNode& count) {
  if (count.failed == count.pairs) return count.failed >= 2;
  return count.failed >= 3 && 2 * count.failed > count.pairs;
}

}  // namespace

std::vector<FailingNode> FailingNodes(const std::vector<TriedPair>& tried) {
  std::vector<FailingNode> found;
  if (std::all_of(tried.begin(), tried.end(), [](const auto& pair) { return pair.failed; })) {
    return found;
  }
  const std::map<size_t, FailingNode> all = CountPairs(tried, {});
  std::set<size_t> explained;
  while (true) {
    std::optional<FailingNode> worst;
    for (const auto& [node, count] : CountPairs(tried, explained)) {
      if (ExplainsFailures(count) && (!worst || count.failed > worst->failed)) worst = count;
    }
    if (!worst) return found;
    explained.insert(worst->node);
    found.push_back(all.at(worst->node));
  }
}

std::vector<Suspect> RankSuspects(const std::vector<PairAnalysis>& analyses,
                                  const std::vector<TriedPair>& tried) {
  std::vector<Suspect> suspects;
  const auto get = [&](size_t one, size_t other) -> Suspect& {
    const auto [a, b] = std::minmax(one, other);
    for (Suspect& known : suspects) {
      if (known.a == a && known.b == b) return known;
    }
    return suspects.emplace_back(Suspect{a, b, false, {}});
  };
  std::set<size_t> failing;
  for (const FailingNode& node : FailingNodes(tried)) {
    get(node.node, node.node).failed = true;
    failing.insert(node.node);
  }
  for (const TriedPair& pair : tried) {
    const bool explained = failing.count(pair.a) + failing.count(pair.b) > 0;
    if (pair.failed && !explained) get(pair.a, pair.b).failed = true;
  }
  const auto add = [&](size_t a, size_t b, size_t analysis) {
    std::vector<size_t>& known = get(a, b).analyses;
    if (known.empty() || known.back() != analysis) known.push_back(analysis);
  };
  for (size_t i = 0; i < analyses.size(); ++i) {
    for (const BadNode& bad : analyses[i].nodes) {
      if (bad.certain) add(bad.node, bad.node, i);
    }
    for (const BadLink& bad : analyses[i].links) {
      if (bad.certain) add(bad.from, bad.to, i);
    }
  }
  std::stable_sort(suspects.begin(), suspects.end(), [](const Suspect& x, const Suspect& y) {
    const auto rank = [](const Suspect& one) {
      return std::tuple(one.is_node(), one.failed, one.analyses.size());
    };
    return rank(x) > rank(y);
  });
  return suspects;
}

}  // namespace assay::analysis
