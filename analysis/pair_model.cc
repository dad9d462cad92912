#include "analysis/pair_model.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "analysis/pair_fit.h"
#include "analysis/statistics.h"

namespace assay::analysis {
namespace {

constexpr size_t kMinLinks = 3;
// A node is considered bad only if it is worse than normal by at least this many standard errors.
// The limit is high because the worst of many nodes is tested, and because the noise is estimated
// from just a few values.
constexpr double kNodeErrors = 4;
constexpr double kLinkErrors = 5;
// If one direction of a link is bad, the opposite direction is also considered bad if its deviation
// is at least this fraction as large. The same rule applies to a node as a sender and as a
// receiver.
constexpr double kAlike = 0.5;

// The degrees of certainty that a link or a node is bad, in ascending order. kUncertain means that
// the standard errors of the measured values could explain the deviation.
enum class Level { kFine, kUncertain, kCertain };

using Pair = std::pair<size_t, size_t>;

Pair Reversed(const Pair& pair) { return {pair.second, pair.first}; }

// Returns whether most pairs were measured in both directions.
bool MostlyBothWays(const std::map<Pair, PairValue>& values) {
  size_t both = 0;
  size_t one = 0;
  for (const auto& [pair, value] : values) {
    const bool back = values.count(Reversed(pair)) > 0;
    if (!back) ++one;
    if (back && pair.first < pair.second) ++both;
  }
  return both > one;
}

// A conversion of values to scores, which are additive and higher for better values.
class Scale {
 public:
  Scale(const std::vector<PairValue>& values, const PairRule& rule)
      : higher_is_better_(rule.higher_is_better) {
    double sum = 0;
    bool any_zero = false;
    for (const PairValue& value : values) {
      sum += value.value;
      any_zero = any_zero || value.value == 0;
    }
    additive_ = !higher_is_better_ && (any_zero || rule.is_count);
    if (additive_ && sum > 0) unit_ = sum / static_cast<double>(values.size());
    threshold_ = additive_           ? rule.threshold
                 : higher_is_better_ ? -std::log1p(-rule.threshold)
                                     : std::log1p(rule.threshold);
  }

  bool additive() const { return additive_; }
  // Returns PairRule::threshold as a difference of scores.
  double threshold() const { return threshold_; }

  double ScoreOf(double value) const {
    if (additive_) return -value / unit_;
    return (higher_is_better_ ? 1 : -1) * std::log(value);
  }
  std::optional<double> ErrorOf(const PairValue& value) const {
    if (!value.error) return std::nullopt;
    return *value.error / (additive_ ? unit_ : value.value);
  }
  double ValueOf(double score) const {
    if (additive_) return std::max(0.0, -score * unit_);
    return std::exp(higher_is_better_ ? score : -score);
  }
  // Converts a standard deviation of scores to the unit of PairAnalysis::noise.
  double NoiseOf(double noise) const { return additive_ ? noise * unit_ : noise; }
  // Converts the amount by which one score is below another to a deficit, as in BadNode::deficit.
  double Deficit(double below) const {
    if (additive_) return below * unit_;
    return higher_is_better_ ? -std::expm1(-below) : std::expm1(below);
  }
  // Converts a difference of scores to the unit of ErrorOf(). If the scores are logarithms, as they
  // usually are, returns a fraction of the measured value. In the additive model, returns the
  // difference itself.
  double Distance(double below) const {
    if (additive_) return below;
    return higher_is_better_ ? std::expm1(below) : -std::expm1(-below);
  }

 private:
  const bool higher_is_better_;
  bool additive_ = false;
  double unit_ = 1;  // The value of one score in an additive model.
  double threshold_ = 0;
};

class PairModel {
 public:
  PairModel(const std::vector<PairValue>& values, const PairRule& rule)
      : given_(values), scale_(values, rule) {
    for (const PairValue& value : values) {
      values_[{value.from, value.to}] = value;
      nodes_ = std::max({nodes_, value.from + 1, value.to + 1});
    }
    result_.directed = MostlyBothWays(values_);
    result_.additive = scale_.additive();
  }

  PairAnalysis Judge() {
    const PairFit fit(result_.directed ? 2 * nodes_ : nodes_, nodes_, Equations());
    fit_ = &fit;
    noise_ = fit.Noise();
    SetLimits();
    for (size_t node = 0; node < nodes_; ++node) JudgeNode(node);
    JudgeLinks();
    SortWorstFirst(result_.nodes);
    SortWorstFirst(result_.links);
    for (const PairValue& value : given_) result_.values.push_back(JudgeValue(value));
    return std::move(result_);
  }

 private:
  // Returns the index of a node's effect as a receiver. If senders and receivers are not
  // distinguished, this is the node's only effect.
  size_t ReceivingSide(size_t node) const { return result_.directed ? nodes_ + node : node; }

  std::vector<size_t> SidesOf(size_t node) const {
    if (result_.directed) return {node, ReceivingSide(node)};
    return {node};
  }

  // If directions are not told apart, averages the two values of a pair into one equation.
  std::vector<PairEquation> Equations() const {
    std::vector<PairEquation> equations;
    for (const auto& [pair, value] : values_) {
      PairEquation equation{pair.first, ReceivingSide(pair.second), scale_.ScoreOf(value.value),
                            scale_.ErrorOf(value)};
      const auto back = values_.find(Reversed(pair));
      if (!result_.directed && back != values_.end()) {
        if (pair.first > pair.second) continue;
        equation.score = (equation.score + scale_.ScoreOf(back->second.value)) / 2;
        const auto error = scale_.ErrorOf(back->second);
        if (equation.error && error) equation.error = std::max(*equation.error, *error);
        if (!error) equation.error.reset();
      }
      equations.push_back(equation);
    }
    return equations;
  }

  size_t LinksOf(size_t side) const { return fit_->EquationsOf(side).size(); }

  // Returns the smallest effect of a node that noise is unlikely to explain. The node has `links`
  // measured links, and each measured value has the standard error `error`.
  static double NodeLimit(double error, size_t links) {
    return kNodeErrors * kMedianToMeanError * error / std::sqrt(static_cast<double>(links));
  }

  void SetLimits() {
    size_t most = 1;
    for (size_t node = 0; node < nodes_; ++node) {
      for (const size_t side : SidesOf(node)) most = std::max(most, LinksOf(side));
    }
    result_.noise = scale_.NoiseOf(noise_);
    result_.threshold = scale_.Deficit(scale_.threshold());
    result_.node_limit = scale_.Deficit(std::max(scale_.threshold(), NodeLimit(noise_, most)));
    result_.link_limit = scale_.Deficit(std::max(scale_.threshold(), kLinkErrors * noise_));
  }

  Level LevelOf(size_t side) const {
    const double below = -fit_->effect(side);
    const size_t links = LinksOf(side);
    if (below < std::max(scale_.threshold(), NodeLimit(noise_, links))) return Level::kFine;
    std::vector<double> errors;
    for (const size_t i : fit_->EquationsOf(side)) {
      if (fit_->equations()[i].error) errors.push_back(*fit_->equations()[i].error);
    }
    return below >= NodeLimit(MedianOf(errors), links) ? Level::kCertain : Level::kUncertain;
  }

  Level LevelOf(const PairEquation& equation) const {
    const double below = -equation.residual;
    if (!IsJudged(equation)) return Level::kFine;
    if (below < std::max(scale_.threshold(), kLinkErrors * noise_)) return Level::kFine;
    const bool certain = scale_.Distance(below) >= kLinkErrors * equation.error.value_or(0);
    return certain ? Level::kCertain : Level::kUncertain;
  }

  bool IsJudged(const PairEquation& equation) const {
    return LinksOf(equation.first) >= kMinLinks && LinksOf(equation.second) >= kMinLinks;
  }

  void JudgeNode(size_t node) {
    std::vector<size_t> judged;
    size_t measured = 0;
    for (const size_t side : SidesOf(node)) {
      measured += LinksOf(side);
      if (LinksOf(side) >= kMinLinks) judged.push_back(side);
    }
    if (judged.empty()) {
      if (measured > 0) result_.unjudged_nodes.push_back(node);
      return;
    }
    Level level = Level::kFine;
    for (const size_t side : judged) level = std::max(level, LevelOf(side));
    if (level == Level::kFine) return;
    std::vector<size_t> bad;
    std::copy_if(judged.begin(), judged.end(), std::back_inserter(bad),
                 [&](size_t side) { return LevelOf(side) == level; });
    const bool all = std::all_of(judged.begin(), judged.end(), [&](size_t side) {
      return fit_->effect(side) <= kAlike * fit_->effect(bad[0]);
    });
    result_.nodes.push_back(Describe(node, all ? judged : bad, level == Level::kCertain));
  }

  BadNode Describe(size_t node, const std::vector<size_t>& sides, bool certain) const {
    BadNode found;
    found.node = node;
    found.certain = certain;
    if (result_.directed && sides.size() == 1) {
      found.side = sides[0] == node ? NodeSide::kSending : NodeSide::kReceiving;
    }
    double effect = 0;
    std::set<size_t> links;
    std::set<size_t> bad_links;
    for (const size_t side : sides) {
      effect += fit_->UnbiasedEffect(side) / static_cast<double>(sides.size());
      for (const size_t i : fit_->EquationsOf(side)) {
        const PairEquation& equation = fit_->equations()[i];
        const size_t other = (equation.first == side ? equation.second : equation.first) % nodes_;
        links.insert(other);
        const double below = -(equation.residual + fit_->effect(side));
        if (below >= scale_.threshold()) bad_links.insert(other);
      }
    }
    found.deficit = scale_.Deficit(-effect);
    found.links = links.size();
    found.bad_links = bad_links.size();
    return found;
  }

  // Finds bad links. If both directions of a link are bad, or if one is bad and the other deviates
  // at least half as much, reports them as one link. Otherwise, reports only the bad direction.
  void JudgeLinks() {
    std::map<Pair, const PairEquation*> links;
    for (const PairEquation& equation : fit_->equations()) {
      links[{equation.first, equation.second % nodes_}] = &equation;
    }
    for (const auto& [pair, link] : links) {
      const auto back = links.find(Reversed(pair));
      const Level level = LevelOf(*link);
      const Level other = back == links.end() ? Level::kFine : LevelOf(*back->second);
      const bool named_with_other = other > level || (other == level && back->first < pair);
      if (level == Level::kFine || named_with_other) continue;
      const bool certain = level == Level::kCertain;
      const bool both = back != links.end() &&
                        (other == level || back->second->residual <= kAlike * link->residual);
      if (both) {
        const auto [a, b] = std::minmax(pair.first, pair.second);
        const double below = -(link->residual + back->second->residual) / 2;
        result_.links.push_back({a, b, false, scale_.Deficit(below), certain});
      } else {
        result_.links.push_back(
            {pair.first, pair.second, result_.directed, scale_.Deficit(-link->residual), certain});
      }
    }
  }

  template <typename Bad>
  static void SortWorstFirst(std::vector<Bad>& found) {
    std::stable_sort(found.begin(), found.end(), [](const Bad& a, const Bad& b) {
      return a.certain != b.certain ? a.certain : a.deficit > b.deficit;
    });
  }

  JudgedValue JudgeValue(const PairValue& value) const {
    const PairEquation equation = {value.from, ReceivingSide(value.to), 0, {}};
    if (!IsJudged(equation)) return {};
    JudgedValue judged{PairVerdict::kOk,
                       scale_.ValueOf(fit_->Expected(equation.first, equation.second))};
    // The most specific certain verdict counts.
    for (const BadNode& bad : result_.nodes) {
      const bool concerned = (bad.node == value.from && bad.side != NodeSide::kReceiving) ||
                             (bad.node == value.to && bad.side != NodeSide::kSending);
      if (concerned) Set(judged, bad.certain ? PairVerdict::kBadNode : PairVerdict::kUncertain);
    }
    for (const BadLink& bad : result_.links) {
      const bool concerned = (bad.from == value.from && bad.to == value.to) ||
                             (!bad.one_way && bad.from == value.to && bad.to == value.from);
      if (concerned) Set(judged, bad.certain ? PairVerdict::kBadLink : PairVerdict::kUncertain);
    }
    return judged;
  }

  static void Set(JudgedValue& judged, PairVerdict verdict) {
    const bool overrides = verdict != PairVerdict::kUncertain || judged.verdict == PairVerdict::kOk;
    if (overrides) judged.verdict = verdict;
  }

  const std::vector<PairValue>& given_;
  const Scale scale_;
  std::map<Pair, PairValue> values_;
  size_t nodes_ = 0;  // One more than the largest number of a node.
  const PairFit* fit_ = nullptr;
  double noise_ = 0;  // Of scores.
  PairAnalysis result_;
};

}  // namespace

bool PairAnalysis::NoiseHidesThreshold() const {
  constexpr double kNoticeable = 1.01;
  return link_limit >= kNoticeable * threshold;
}

Verdict PairAnalysis::verdict() const {
  const auto any = [&](PairVerdict verdict) {
    return std::any_of(values.begin(), values.end(),
                       [&](const JudgedValue& value) { return value.verdict == verdict; });
  };
  // Both lists have their certain findings first.
  if ((!nodes.empty() && nodes[0].certain) || (!links.empty() && links[0].certain)) {
    return Verdict::kBad;
  }
  const bool decided = !values.empty() && nodes.empty() && links.empty() &&
                       !any(PairVerdict::kUnjudged) && !NoiseHidesThreshold();
  return decided ? Verdict::kClear : Verdict::kUndecided;
}

PairAnalysis AnalyzePairs(const std::vector<PairValue>& values, const PairRule& rule) {
  return PairModel(values, rule).Judge();
}

}  // namespace assay::analysis
