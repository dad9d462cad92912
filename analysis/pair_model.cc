#include "analysis/pair_model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analysis/pair_fit.h"

namespace assay::cli {
namespace {

constexpr size_t kMinNodes = 4;
constexpr size_t kMinLinks = 3;
// How many standard errors an effect, or a link's deviation, must lie beyond zero. Both are
// the worst of many, and the noise is itself estimated from few.
constexpr double kNodeErrors = 4;
constexpr double kLinkErrors = 5;
// The median's standard error is pi / 2 of the mean's, in squares.
constexpr double kMedianError = 1.2533;
// From this part of the other's deviation on, a side or direction is taken to be bad too:
// half-way between fine and as bad, where both mistakes are as likely.
constexpr double kAlike = 0.5;

using Pair = std::pair<size_t, size_t>;

// By the deficit, so that the worst comes first; those alike stay in order.
template <typename Bad>
void SortWorstFirst(std::vector<Bad>& bad) {
  std::stable_sort(bad.begin(), bad.end(),
                   [](const Bad& a, const Bad& b) { return a.deficit > b.deficit; });
}

// Whether most pairs were measured in both directions.
bool MostlyBothWays(const std::map<Pair, PairValue>& values) {
  size_t both = 0;
  size_t one = 0;
  for (const auto& [pair, value] : values) {
    const bool back = values.count({pair.second, pair.first}) > 0;
    if (!back) ++one;
    if (back && pair.first < pair.second) ++both;
  }
  return both > one;
}

class Analysis {
 public:
  Analysis(size_t nodes, const std::vector<PairValue>& values, const PairRule& rule)
      : nodes_(nodes), rule_(rule), given_(values) {
    for (const PairValue& value : values) values_[{value.from, value.to}] = value;
    result_.both_ways = MostlyBothWays(values_);
    double sum = 0;
    bool any_zero = false;
    for (const auto& [pair, value] : values_) {
      sum += value.value;
      any_zero = any_zero || value.value == 0;
    }
    result_.additive = !rule.higher_is_better && (any_zero || rule.counts);
    if (result_.additive && sum > 0) scale_ = sum / static_cast<double>(values_.size());
    bar_ = result_.additive        ? rule.threshold
           : rule.higher_is_better ? -std::log1p(-rule.threshold)
                                   : std::log1p(rule.threshold);
    result_.threshold = Deficit(-bar_);
  }

  PairAnalysis Run() {
    std::set<size_t> seen;
    for (const auto& [pair, value] : values_) seen.insert({pair.first, pair.second});
    if (seen.size() < kMinNodes) return result_;
    result_.judged = true;
    std::vector<PairTerm> terms = Terms();
    const PairFit fit(result_.both_ways ? 2 * nodes_ : nodes_, nodes_, std::move(terms));
    const double noise = fit.Noise();
    SetLimits(fit, noise);
    for (size_t node = 0; node < nodes_; ++node) JudgeNode(fit, noise, node);
    JudgeLinks(fit, noise);
    JudgeZeros(fit);
    for (const PairValue& value : given_) {
      result_.expected.push_back(
          fit.terms().empty() ? 0 : ValueOf(fit.Expected(value.from, SecondSlot(value.to))));
    }
    SortWorstFirst(result_.nodes);
    SortWorstFirst(result_.links);
    SortWorstFirst(result_.doubtful_nodes);
    SortWorstFirst(result_.doubtful_links);
    return result_;
  }

 private:
  // Higher is better; differences of scores are what the model is of.
  double ScoreOf(double value) const {
    if (result_.additive) return -value / scale_;
    return (rule_.higher_is_better ? 1 : -1) * std::log(value);
  }
  double ValueOf(double score) const {
    if (result_.additive) return std::max(0.0, -score * scale_);
    return std::exp(rule_.higher_is_better ? score : -score);
  }
  std::optional<double> ScoreError(const PairValue& value) const {
    if (!value.error) return std::nullopt;
    return *value.error / (result_.additive ? scale_ : value.value);
  }

  // How much worse a score below zero is.
  double Deficit(double score) const {
    if (result_.additive) return -score * scale_;
    return rule_.higher_is_better ? -std::expm1(score) : std::expm1(-score);
  }

  // What `residual` is in errors of the value itself, which are relative to the value that was
  // measured and not to the one expected.
  double Distance(double residual) const {
    if (result_.additive) return -residual;
    return rule_.higher_is_better ? std::expm1(-residual) : -std::expm1(residual);
  }

  bool IsNothing(const PairValue& value) const {
    return rule_.higher_is_better && value.value == 0;
  }

  size_t SecondSlot(size_t node) const { return result_.both_ways ? nodes_ + node : node; }

  // Two directions where few have both become one.
  std::vector<PairTerm> Terms() const {
    std::vector<PairTerm> terms;
    for (const auto& [pair, value] : values_) {
      if (IsNothing(value)) continue;
      const auto [a, b] = pair;
      PairTerm term{a, SecondSlot(b), ScoreOf(value.value), ScoreError(value)};
      const auto back = values_.find({b, a});
      const bool merge = !result_.both_ways && back != values_.end() && !IsNothing(back->second);
      if (merge) {
        if (a > b) continue;
        term.score = (term.score + ScoreOf(back->second.value)) / 2;
        const auto error = ScoreError(back->second);
        if (term.error && error) term.error = std::max(*term.error, *error);
        if (!error) term.error.reset();
      }
      terms.push_back(term);
    }
    return terms;
  }

  void SetLimits(const PairFit& fit, double noise) {
    const auto most = static_cast<double>(std::max<size_t>(nodes_ - 1, 1));
    const double node = std::max(bar_, kNodeErrors * kMedianError * noise / std::sqrt(most));
    const double link = std::max(bar_, kLinkErrors * noise);
    result_.noise = result_.additive ? noise * scale_ : noise;
    result_.node_limit = Deficit(-node);
    result_.link_limit = Deficit(-link);
    size_t known = 0;
    for (const PairTerm& term : fit.terms()) known += term.error ? 1 : 0;
    // Where errors are known of few, they are taken to be alike, and what the model leaves
    // tells them.
    errors_known_ = 2 * known > fit.terms().size();
  }

  // Whether the slot's own values, apart from the noise of all, bear out its effect.
  bool IsCertain(const PairFit& fit, size_t slot) const {
    std::vector<double> errors;
    for (const size_t i : fit.of(slot)) {
      if (fit.terms()[i].error) errors.push_back(*fit.terms()[i].error);
    }
    const size_t links = fit.count(slot);
    if (errors_known_ && 2 * errors.size() <= links) return false;
    const double error = kMedianError * MedianOf(errors) / std::sqrt(static_cast<double>(links));
    return -fit.effect(slot) >= kNodeErrors * error;
  }

  bool IsCertain(const PairTerm& term) const {
    if (!term.error) return !errors_known_;
    return Distance(term.residual) >= kLinkErrors * *term.error;
  }

  bool IsLow(const PairFit& fit, double noise, size_t slot) const {
    const auto links = static_cast<double>(fit.count(slot));
    if (links < kMinLinks) return false;
    return -fit.effect(slot) >=
           std::max(bar_, kNodeErrors * kMedianError * noise / std::sqrt(links));
  }

  BadNode Describe(const PairFit& fit, size_t node, const std::vector<size_t>& slots) const {
    BadNode found;
    found.node = node;
    if (result_.both_ways && slots.size() == 1) {
      found.side = slots[0] == node ? NodeSide::kSending : NodeSide::kReceiving;
    }
    double effect = 0;
    std::set<size_t> links;
    std::set<size_t> bad_links;
    for (const size_t slot : slots) {
      effect += fit.WholeEffect(slot) / static_cast<double>(slots.size());
      for (const size_t i : fit.of(slot)) {
        const PairTerm& term = fit.terms()[i];
        const size_t other = (term.first == slot ? term.second : term.first) % nodes_;
        links.insert(other);
        if (-(term.residual + fit.effect(slot)) >= bar_) bad_links.insert(other);
      }
    }
    found.deficit = Deficit(effect);
    found.links = links.size();
    found.bad_links = bad_links.size();
    return found;
  }

  void JudgeNode(const PairFit& fit, double noise, size_t node) {
    std::vector<size_t> slots;
    size_t measured = 0;
    for (const size_t slot : std::set<size_t>{node, SecondSlot(node)}) {
      measured += fit.count(slot);
      if (fit.count(slot) >= kMinLinks) slots.push_back(slot);
    }
    if (slots.empty()) {
      if (measured > 0) result_.unjudged_nodes.push_back(node);
      return;
    }
    std::vector<size_t> bad;
    std::vector<size_t> doubtful;
    for (const size_t slot : slots) {
      if (IsLow(fit, noise, slot)) (IsCertain(fit, slot) ? bad : doubtful).push_back(slot);
      const BadNode described = Describe(fit, node, {slot});
      if (!result_.last_node || described.deficit > result_.last_node->deficit) {
        result_.last_node = described;
      }
    }
    auto& named = bad.empty() ? result_.doubtful_nodes : result_.nodes;
    const std::vector<size_t>& found = bad.empty() ? doubtful : bad;
    if (found.empty()) return;
    // A side that is as bad but for the noise is not fine.
    const bool both = std::all_of(slots.begin(), slots.end(), [&](size_t slot) {
      return fit.effect(slot) <= kAlike * fit.effect(found[0]);
    });
    named.push_back(Describe(fit, node, both ? slots : found));
  }

  // Of nodes with few links, the link is all that is known.
  void JudgeLinks(const PairFit& fit, double noise) {
    std::map<Pair, double> all;
    std::set<Pair> bad;
    std::set<Pair> doubtful;
    for (const PairTerm& term : fit.terms()) {
      const Pair pair = {term.first, term.second % nodes_};
      all[pair] = term.residual;
      if (fit.count(term.first) < kMinLinks || fit.count(term.second) < kMinLinks) continue;
      const double deficit = Deficit(term.residual);
      if (!result_.last_link || deficit > result_.last_link->deficit) {
        result_.last_link = BadLink{pair.first, pair.second, result_.both_ways, deficit};
      }
      if (-term.residual < std::max(bar_, kLinkErrors * noise)) continue;
      (IsCertain(term) ? bad : doubtful).insert(pair);
    }
    for (const Pair& pair : bad) doubtful.erase({pair.second, pair.first});
    result_.links = LinksOf(bad, all);
    result_.doubtful_links = LinksOf(doubtful, all);
  }

  // Both directions of a link as one, if the other is as bad but for the noise.
  std::vector<BadLink> LinksOf(const std::set<Pair>& pairs,
                               const std::map<Pair, double>& residuals) const {
    std::vector<BadLink> links;
    for (const Pair& pair : pairs) {
      const Pair turned = {pair.second, pair.first};
      const double residual = residuals.at(pair);
      const auto back = residuals.find(turned);
      const bool both =
          back != residuals.end() && (pairs.count(turned) > 0 || back->second <= kAlike * residual);
      if (!both) {
        links.push_back({pair.first, pair.second, result_.both_ways, Deficit(residual)});
      } else if (pair < turned || pairs.count(turned) == 0) {
        const auto [a, b] = std::minmax(pair.first, pair.second);
        links.push_back({a, b, false, Deficit((residual + back->second) / 2)});
      }
    }
    return links;
  }

  // Whether nothing was expected but for the value's own error.
  bool IsCertainlyNothing(const PairFit& fit, const PairValue& value) const {
    if (!value.error) return !errors_known_;
    if (fit.terms().empty()) return true;
    return ValueOf(fit.Expected(value.from, SecondSlot(value.to))) >= kLinkErrors * *value.error;
  }

  // Pairs that carry nothing: as bad as can be, whatever the noise.
  void JudgeZeros(const PairFit& fit) {
    std::vector<PairOutcome> outcomes;
    std::vector<PairValue> zeros;
    for (const auto& [pair, value] : values_) {
      const auto back = values_.find({pair.second, pair.first});
      const bool merge = !result_.both_ways && back != values_.end();
      if (IsNothing(value)) zeros.push_back(value);
      if (merge && pair.first > pair.second) continue;
      const bool nothing = IsNothing(value) && (!merge || IsNothing(back->second));
      outcomes.push_back({pair.first, SecondSlot(pair.second), nothing});
    }
    std::map<size_t, DeadNode> dead;  // By slot.
    for (const DeadNode& one : DeadNodes(outcomes)) dead[one.node] = one;
    for (size_t node = 0; node < nodes_; ++node) JudgeDeadNode(dead, node);
    for (const PairValue& value : zeros) {
      if (dead.count(value.from) + dead.count(SecondSlot(value.to)) > 0) continue;
      const auto back = values_.find({value.to, value.from});
      const bool both = back != values_.end() && IsNothing(back->second);
      if (both && value.from > value.to) continue;
      const bool one_way = back != values_.end() && !both;
      (IsCertainlyNothing(fit, value) ? result_.links : result_.doubtful_links)
          .push_back({value.from, value.to, one_way, 1});
    }
  }

  void JudgeDeadNode(const std::map<size_t, DeadNode>& dead, size_t node) {
    const auto sends = dead.find(node);
    const auto gets = dead.find(SecondSlot(node));
    if (sends == dead.end() && gets == dead.end()) return;
    const DeadNode& one = sends != dead.end() ? sends->second : gets->second;
    NodeSide side = NodeSide::kBoth;
    if (gets == dead.end()) side = NodeSide::kSending;
    if (sends == dead.end()) side = NodeSide::kReceiving;
    // Nothing at all says more than little.
    const auto is_it = [&](const BadNode& bad) { return bad.node == node; };
    std::erase_if(result_.nodes, is_it);
    std::erase_if(result_.doubtful_nodes, is_it);
    std::erase(result_.unjudged_nodes, node);
    result_.nodes.push_back({node, side, 1, one.dead, one.pairs});
  }

  const size_t nodes_;
  const PairRule rule_;
  const std::vector<PairValue>& given_;
  double bar_ = 0;    // The threshold as a difference of scores.
  double scale_ = 1;  // Of an additive model: the unit of scores.
  bool errors_known_ = false;
  std::map<Pair, PairValue> values_;
  PairAnalysis result_;
};

}  // namespace

PairAnalysis AnalyzePairs(size_t nodes, const std::vector<PairValue>& values,
                          const PairRule& rule) {
  return Analysis(nodes, values, rule).Run();
}

std::vector<DeadNode> DeadNodes(const std::vector<PairOutcome>& outcomes) {
  std::vector<DeadNode> found;
  if (std::all_of(outcomes.begin(), outcomes.end(), [](const auto& one) { return one.dead; })) {
    return found;
  }
  std::set<size_t> named;
  const auto count = [&](bool all) {
    std::map<size_t, DeadNode> counts;
    for (const PairOutcome& one : outcomes) {
      if (!all && named.count(one.first) + named.count(one.second) > 0) continue;
      for (const size_t node : {one.first, one.second}) {
        counts[node].node = node;
        counts[node].dead += one.dead ? 1 : 0;
        ++counts[node].pairs;
      }
    }
    return counts;
  };
  std::map<size_t, DeadNode> whole = count(true);
  while (true) {
    std::optional<DeadNode> worst;
    for (const auto& [node, left] : count(false)) {
      const bool explains =
          left.dead == left.pairs ? left.dead >= 2 : left.dead >= 3 && 2 * left.dead > left.pairs;
      if (explains && (!worst || left.dead > worst->dead)) worst = left;
    }
    if (!worst) return found;
    named.insert(worst->node);
    found.push_back(whole[worst->node]);
  }
}

}  // namespace assay::cli
