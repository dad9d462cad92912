#include "cli/pair_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace assay::cli {
namespace {

constexpr size_t kMinNodes = 4;
constexpr size_t kMinLinks = 3;
// How many standard errors an effect, or a link's deviation, must lie beyond zero. Both are
// the worst of many, and the noise is itself estimated from few.
constexpr double kNodeErrors = 4;
constexpr double kLinkErrors = 5;

double MedianOf(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// One equation of the model. A slot is a node, or one of its two sides.
struct Term {
  size_t first;
  size_t second;
  double log;  // Higher is better.
  double residual;
  double relative_error;
};

class Polish {
 public:
  // Slots from `second_side` on are those of receiving; none if it is `slots`.
  Polish(size_t slots, size_t second_side, std::vector<Term> terms)
      : second_side_(second_side), effects_(slots, 0), terms_(std::move(terms)), of_(slots) {
    for (size_t i = 0; i < terms_.size(); ++i) {
      of_[terms_[i].first].push_back(i);
      of_[terms_[i].second].push_back(i);
    }
  }

  // Sweeps of medians end where no effect alone can be bettered, which need not be the best
  // fit: the best of several beginnings counts.
  void Fit() {
    std::vector<double> logs;
    for (const Term& term : terms_) logs.push_back(term.log);
    std::sort(logs.begin(), logs.end());
    double least = std::numeric_limits<double>::infinity();
    std::vector<double> best;
    double best_mu = 0;
    for (const size_t quarter : {3, 2, 1}) {
      Sweep(logs[(logs.size() - 1) * quarter / 4]);
      const double cost = Cost();
      if (cost >= least - kStill) continue;
      least = cost;
      best = effects_;
      best_mu = mu_;
    }
    effects_ = best;
    mu_ = best_mu;
    for (Term& term : terms_) {
      term.residual = term.log - mu_ - effects_[term.first] - effects_[term.second];
    }
    // Effects are relative to the median node.
    Centre(0, second_side_);
    Centre(second_side_, effects_.size());
  }

  // Relative standard deviation: of what the model leaves, by the median so that bad links
  // do not count, or of the measurements themselves.
  double Noise() const {
    std::vector<double> left;
    std::vector<double> own;
    for (const Term& term : terms_) {
      left.push_back(std::abs(term.residual));
      own.push_back(term.relative_error);
    }
    std::sort(left.begin(), left.end());
    const size_t sides = second_side_ < effects_.size() ? 2 : 1;
    const size_t fitted = effects_.size() - sides + 1;
    // A fit by medians goes through about as many terms as it has effects; those tell
    // nothing of the noise. Where next to no others are left, one bad link would be half of
    // them, and a correction by their number has to do.
    constexpr size_t kFew = 4;
    double correction = 1;
    if (left.size() >= fitted + kFew) {
      left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(fitted - 1));
    } else {
      const size_t free = left.size() > fitted ? left.size() - fitted : 1;
      correction = std::sqrt(static_cast<double>(left.size()) / static_cast<double>(free));
    }
    return std::max(1.4826 * MedianOf(left) * correction, MedianOf(own));
  }

  double effect(size_t slot) const { return effects_[slot]; }
  // Without what the fit took off for the sake of few and small effects.
  double WholeEffect(size_t slot) const {
    std::vector<double> residuals;
    for (const size_t i : of_[slot]) residuals.push_back(terms_[i].residual);
    return effects_[slot] + MedianOf(std::move(residuals));
  }
  size_t count(size_t slot) const { return of_[slot].size(); }
  const std::vector<Term>& terms() const { return terms_; }
  const std::vector<size_t>& of(size_t slot) const { return of_[slot]; }

 private:
  static constexpr double kStill = 1e-9;

  // What the fit makes small: the sum of what links and nodes deviate by. So one bad node
  // explains more than all of its links, and one bad link more than two nodes.
  double Cost() const {
    double cost = 0;
    for (const Term& term : terms_) cost += std::abs(term.residual);
    for (const double effect : effects_) cost += std::abs(effect);
    return cost;
  }

  void Sweep(double mu) {
    mu_ = mu;
    std::fill(effects_.begin(), effects_.end(), 0);
    for (Term& term : terms_) term.residual = term.log - mu;
    constexpr int kSweeps = 100;
    double moved = std::numeric_limits<double>::infinity();
    for (int sweep = 0; sweep < kSweeps && moved > kStill; ++sweep) {
      moved = 0;
      for (size_t slot = 0; slot < effects_.size(); ++slot) {
        const double step = Step(slot);
        effects_[slot] += step;
        for (const size_t term : of_[slot]) terms_[term].residual -= step;
        moved = std::max(moved, std::abs(step));
      }
      std::vector<double> residuals;
      for (const Term& term : terms_) residuals.push_back(term.residual);
      const double step = MedianOf(std::move(residuals));
      mu_ += step;
      for (Term& term : terms_) term.residual -= step;
      moved = std::max(moved, std::abs(step));
    }
  }

  // What makes the cost least by this effect alone: a median of the residuals and of what
  // the effect itself costs; of several, the one that leaves the smallest effect.
  double Step(size_t slot) const {
    if (of_[slot].empty()) return 0;
    std::vector<double> residuals = {-effects_[slot]};
    for (const size_t i : of_[slot]) residuals.push_back(terms_[i].residual);
    std::sort(residuals.begin(), residuals.end());
    const size_t n = residuals.size();
    return std::clamp(-effects_[slot], residuals[(n - 1) / 2], residuals[n / 2]);
  }

  void Centre(size_t begin, size_t end) {
    std::vector<double> measured;
    for (size_t slot = begin; slot < end; ++slot) {
      if (!of_[slot].empty()) measured.push_back(effects_[slot]);
    }
    const double middle = MedianOf(measured);
    for (size_t slot = begin; slot < end; ++slot) effects_[slot] -= middle;
  }

  const size_t second_side_;
  double mu_ = 0;
  std::vector<double> effects_;
  std::vector<Term> terms_;
  std::vector<std::vector<size_t>> of_;  // Terms of each slot.
};

class Analysis {
 public:
  Analysis(size_t nodes, const std::vector<PairValue>& values, const PairRule& rule)
      : nodes_(nodes),
        rule_(rule),
        bar_(rule.higher_is_better ? -std::log1p(-rule.threshold) : std::log1p(rule.threshold)) {
    for (const PairValue& value : values) values_[{value.from, value.to}] = value;
    result_.both_ways =
        !values_.empty() && std::all_of(values_.begin(), values_.end(), [&](auto& one) {
          return values_.count({one.first.second, one.first.first}) > 0;
        });
  }

  PairAnalysis Run(const std::vector<PairValue>& values) {
    std::set<size_t> seen;
    for (const auto& [pair, value] : values_) seen.insert({pair.first, pair.second});
    if (seen.size() < kMinNodes) return result_;
    result_.judged = true;
    Polish polish(result_.both_ways ? 2 * nodes_ : nodes_, nodes_, Terms());
    polish.Fit();
    result_.noise = polish.Noise();
    for (size_t node = 0; node < nodes_; ++node) JudgeNode(polish, node);
    JudgeLinks(polish);
    Expect(polish, values);
    const auto worse = [](const auto& a, const auto& b) { return a.deficit > b.deficit; };
    std::stable_sort(result_.nodes.begin(), result_.nodes.end(), worse);
    std::stable_sort(result_.links.begin(), result_.links.end(), worse);
    return result_;
  }

 private:
  double LogOf(const PairValue& value) const {
    return (rule_.higher_is_better ? 1 : -1) * std::log(value.value);
  }

  // How much worse a logarithm below zero is.
  double Deficit(double log) const {
    return rule_.higher_is_better ? -std::expm1(log) : std::expm1(-log);
  }

  // Two directions of which not all are there become one.
  std::vector<Term> Terms() const {
    std::vector<Term> terms;
    for (const auto& [pair, value] : values_) {
      const auto [a, b] = pair;
      if (result_.both_ways) {
        terms.push_back({a, nodes_ + b, LogOf(value), 0, value.relative_error});
        continue;
      }
      const auto back = values_.find({b, a});
      if (back == values_.end()) {
        terms.push_back({a, b, LogOf(value), 0, value.relative_error});
      } else if (a < b) {
        terms.push_back({a, b, (LogOf(value) + LogOf(back->second)) / 2, 0,
                         std::max(value.relative_error, back->second.relative_error)});
      }
    }
    return terms;
  }

  bool IsBad(const Polish& polish, size_t slot) const {
    const auto links = static_cast<double>(polish.count(slot));
    if (links < kMinLinks) return false;
    // The median's standard error is pi / 2 of the mean's, in squares.
    const double error = 1.2533 * result_.noise / std::sqrt(links);
    return -polish.effect(slot) >= std::max(bar_, kNodeErrors * error);
  }

  void JudgeNode(const Polish& polish, size_t node) {
    std::vector<size_t> slots = {node};
    if (result_.both_ways) slots.push_back(nodes_ + node);
    if (polish.count(node) < kMinLinks) {
      if (polish.count(node) > 0) result_.unjudged_nodes.push_back(node);
      return;
    }
    std::vector<size_t> bad;
    for (const size_t slot : slots) {
      if (IsBad(polish, slot)) bad.push_back(slot);
    }
    if (bad.empty()) return;
    BadNode found;
    found.node = node;
    if (bad.size() < slots.size()) {
      found.side = bad[0] == node ? NodeSide::kSending : NodeSide::kReceiving;
    }
    double effect = 0;
    std::set<size_t> links;
    std::set<size_t> bad_links;
    for (const size_t slot : bad) {
      effect += polish.WholeEffect(slot) / static_cast<double>(bad.size());
      for (const size_t i : polish.of(slot)) {
        const Term& term = polish.terms()[i];
        const size_t other = (term.first == slot ? term.second : term.first) % nodes_;
        links.insert(other);
        if (-(term.residual + polish.effect(slot)) >= bar_) bad_links.insert(other);
      }
    }
    found.deficit = Deficit(effect);
    found.links = links.size();
    found.bad_links = bad_links.size();
    result_.nodes.push_back(found);
  }

  void JudgeLinks(const Polish& polish) {
    std::map<std::pair<size_t, size_t>, double> bad;
    for (const Term& term : polish.terms()) {
      if (-term.residual < std::max(bar_, kLinkErrors * result_.noise)) continue;
      // Of nodes with few links, the link is all that is known.
      if (polish.count(term.first) < kMinLinks || polish.count(term.second) < kMinLinks) continue;
      bad[{term.first, term.second % nodes_}] = term.residual;
    }
    for (const auto& [pair, residual] : bad) {
      const auto back = bad.find({pair.second, pair.first});
      if (back == bad.end()) {
        result_.links.push_back({pair.first, pair.second, result_.both_ways, Deficit(residual)});
      } else if (pair.first < pair.second) {
        const double mean = (residual + back->second) / 2;
        result_.links.push_back({pair.first, pair.second, false, Deficit(mean)});
      }
    }
  }

  void Expect(const Polish& polish, const std::vector<PairValue>& values) {
    std::map<std::pair<size_t, size_t>, double> logs;
    for (const Term& term : polish.terms()) {
      const double log = term.log - term.residual;
      logs[{term.first, term.second % nodes_}] = log;
      if (!result_.both_ways) logs[{term.second, term.first}] = log;
    }
    for (const PairValue& value : values) {
      const double log = logs[{value.from, value.to}];
      result_.expected.push_back(std::exp(rule_.higher_is_better ? log : -log));
    }
  }

  const size_t nodes_;
  const PairRule rule_;
  const double bar_;  // The threshold as a logarithm.
  std::map<std::pair<size_t, size_t>, PairValue> values_;
  PairAnalysis result_;
};

}  // namespace

PairAnalysis AnalyzePairs(size_t nodes, const std::vector<PairValue>& values,
                          const PairRule& rule) {
  return Analysis(nodes, values, rule).Run(values);
}

}  // namespace assay::cli
