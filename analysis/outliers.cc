#include "analysis/outliers.h"

#include <algorithm>
#include <cmath>

#include "analysis/distributions.h"
#include "analysis/statistics.h"

namespace assay::analysis {
namespace {

// A place that is faster than its peers by this fraction or more is implausible.
constexpr double kImplausibleGain = 0.10;
constexpr size_t kJudgedRuns = 3;

double SpreadAround(double median, std::vector<double> values) {
  for (double& value : values) value = std::abs(value - median);
  return kMadToDeviation * MedianOf(std::move(values));
}

// Returns whether a place (a GPU or node) satisfies `rule`, a condition on a value. At least two of
// its three newest runs must satisfy it, or the only run if there is just one. If the level of the
// place (its median over more runs) is known, the level must satisfy it as well.
template <typename Rule>
bool HoldsForPlace(const PeerRuns& peer, const Rule& rule) {
  if (peer.level && !rule(*peer.level)) return false;
  const std::vector<double>& newest = peer.newest;
  const size_t runs = std::min(newest.size(), kJudgedRuns);
  const auto held =
      std::count_if(newest.end() - static_cast<std::ptrdiff_t>(runs), newest.end(), rule);
  return static_cast<size_t>(held) >= std::min<size_t>(runs, 2);
}

}  // namespace

PeerAnalysis FindOutliers(const std::vector<PeerRuns>& peers, const OutlierRule& rule) {
  PeerAnalysis analysis;
  std::vector<const PeerRuns*> measured;
  std::vector<double> newest;
  for (const PeerRuns& peer : peers) {
    if (peer.newest.empty()) continue;
    measured.push_back(&peer);
    newest.push_back(peer.newest.back());
  }
  analysis.median = MedianOf(newest);
  analysis.spread = std::max(SpreadAround(analysis.median, newest), rule.prior_spread);
  if (measured.size() < std::max<size_t>(rule.least_peers, 1)) return analysis;

  const double limit = -NormalQuantile(rule.alpha / static_cast<double>(measured.size()));
  const double least_loss = std::log1p(-rule.least_deficit);
  const double least_gain = std::log1p(kImplausibleGain);
  const auto beyond = [&](double change) { return std::abs(change) > limit * analysis.spread; };
  for (const PeerRuns* peer : measured) {
    PeerPosition& position = analysis.places.emplace_back();
    position.place = peer->place;
    position.value = peer->newest.back();
    position.change = position.value - analysis.median;
    if (analysis.spread > 0) position.z = position.change / analysis.spread;
    position.slow = HoldsForPlace(*peer, [&](double value) {
      const double change = value - analysis.median;
      return change < least_loss && beyond(change);
    });
    position.implausible = HoldsForPlace(*peer, [&](double value) {
      const double change = value - analysis.median;
      return change >= least_gain && beyond(change);
    });
  }
  std::stable_sort(analysis.places.begin(), analysis.places.end(),
                   [](const auto& x, const auto& y) { return x.value < y.value; });
  for (size_t i = 0; i < analysis.places.size(); ++i) analysis.places[i].rank = i + 1;
  return analysis;
}

std::optional<double> LearnSpread(const std::vector<double>& values) {
  if (values.size() < kPlacesToLearn) return std::nullopt;
  return SpreadAround(MedianOf(values), values);
}

}  // namespace assay::analysis
