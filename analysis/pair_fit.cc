#include "analysis/pair_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace assay::cli {
namespace {

constexpr double kStill = 1e-9;

}  // namespace

double MedianOf(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

PairFit::PairFit(size_t slots, size_t second_side, std::vector<PairTerm> terms)
    : second_side_(second_side), effects_(slots, 0), terms_(std::move(terms)), of_(slots) {
  for (size_t i = 0; i < terms_.size(); ++i) {
    of_[terms_[i].first].push_back(i);
    of_[terms_[i].second].push_back(i);
  }
  Fit();
}

// Sweeps of medians end where no effect alone can be bettered, which need not be the best
// fit: the best of several beginnings counts.
void PairFit::Fit() {
  if (terms_.empty()) return;
  std::vector<double> scores;
  for (const PairTerm& term : terms_) scores.push_back(term.score);
  std::sort(scores.begin(), scores.end());
  double least = std::numeric_limits<double>::infinity();
  std::vector<double> best;
  double best_mu = 0;
  for (const size_t quarter : {3, 2, 1}) {
    Sweep(scores[(scores.size() - 1) * quarter / 4]);
    const double cost = Cost();
    if (cost >= least - kStill) continue;
    least = cost;
    best = effects_;
    best_mu = mu_;
  }
  effects_ = best;
  mu_ = best_mu;
  for (PairTerm& term : terms_) term.residual = term.score - Expected(term.first, term.second);
  Centre(0, second_side_);
  Centre(second_side_, effects_.size());
}

double PairFit::Noise() const {
  if (terms_.empty()) return 0;
  std::vector<double> left;
  std::vector<double> own;
  for (const PairTerm& term : terms_) {
    left.push_back(std::abs(term.residual));
    if (term.error) own.push_back(*term.error);
  }
  std::sort(left.begin(), left.end());
  const auto measured = static_cast<size_t>(std::count_if(
      of_.begin(), of_.end(), [](const std::vector<size_t>& terms) { return !terms.empty(); }));
  const size_t sides = second_side_ < effects_.size() ? 2 : 1;
  const size_t fitted = measured - sides + 1;
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

double PairFit::WholeEffect(size_t slot) const {
  std::vector<double> residuals;
  for (const size_t i : of_[slot]) residuals.push_back(terms_[i].residual);
  return effects_[slot] + MedianOf(std::move(residuals));
}

// What the fit makes small: the sum of what links and nodes deviate by. So one bad node
// explains more than all of its links, and one bad link more than two nodes.
double PairFit::Cost() const {
  double cost = 0;
  for (const PairTerm& term : terms_) cost += std::abs(term.residual);
  for (const double effect : effects_) cost += std::abs(effect);
  return cost;
}

void PairFit::Sweep(double mu) {
  mu_ = mu;
  std::fill(effects_.begin(), effects_.end(), 0);
  for (PairTerm& term : terms_) term.residual = term.score - mu;
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
    for (const PairTerm& term : terms_) residuals.push_back(term.residual);
    const double step = MedianOf(std::move(residuals));
    mu_ += step;
    for (PairTerm& term : terms_) term.residual -= step;
    moved = std::max(moved, std::abs(step));
  }
}

// What makes the cost least by this effect alone: a median of the residuals and of what
// the effect itself costs; of several, the one that leaves the smallest effect.
double PairFit::Step(size_t slot) const {
  if (of_[slot].empty()) return 0;
  std::vector<double> residuals = {-effects_[slot]};
  for (const size_t i : of_[slot]) residuals.push_back(terms_[i].residual);
  std::sort(residuals.begin(), residuals.end());
  const size_t n = residuals.size();
  return std::clamp(-effects_[slot], residuals[(n - 1) / 2], residuals[n / 2]);
}

// Effects are relative to the median slot of their side.
void PairFit::Centre(size_t begin, size_t end) {
  std::vector<double> measured;
  for (size_t slot = begin; slot < end; ++slot) {
    if (!of_[slot].empty()) measured.push_back(effects_[slot]);
  }
  const double middle = MedianOf(measured);
  for (size_t slot = begin; slot < end; ++slot) {
    if (!of_[slot].empty()) effects_[slot] -= middle;
  }
  // Of one side, each term has two of these effects.
  mu_ += second_side_ < effects_.size() ? middle : 2 * middle;
}

}  // namespace assay::cli
