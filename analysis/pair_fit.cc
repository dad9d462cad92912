#include "analysis/pair_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "analysis/statistics.h"

namespace assay::analysis {
namespace {

constexpr double kConverged = 1e-9;
// The ratio of the standard deviation of normal values to their median absolute deviation.
constexpr double kDeviationToMedian = 1.4826;

}  // namespace

PairFit::PairFit(size_t effects, size_t second_side, std::vector<PairEquation> equations)
    : second_side_(second_side),
      effects_(effects, 0),
      equations_(std::move(equations)),
      occurrences_(effects) {
  for (size_t i = 0; i < equations_.size(); ++i) {
    occurrences_[equations_[i].first].push_back(i);
    occurrences_[equations_[i].second].push_back(i);
  }
  if (!equations_.empty()) Fit();
}

// Fits one effect at a time. This may converge to a local minimum, so the fit starts from three
// different points and keeps the best result.
void PairFit::Fit() {
  std::vector<double> scores;
  for (const PairEquation& equation : equations_) scores.push_back(equation.score);
  std::sort(scores.begin(), scores.end());
  double least = std::numeric_limits<double>::infinity();
  std::vector<double> best;
  double best_mean = 0;
  for (const size_t quarter : {3, 2, 1}) {
    Sweep(scores[(scores.size() - 1) * quarter / 4]);
    const double cost = Cost();
    if (cost >= least - kConverged) continue;
    least = cost;
    best = effects_;
    best_mean = mean_;
  }
  effects_ = best;
  mean_ = best_mean;
  for (PairEquation& equation : equations_) {
    equation.residual = equation.score - Expected(equation.first, equation.second);
  }
  Centre(0, second_side_);
  Centre(second_side_, effects_.size());
}

double PairFit::Noise() const {
  if (equations_.empty()) return 0;
  std::vector<double> residuals;
  std::vector<double> errors;
  for (const PairEquation& equation : equations_) {
    residuals.push_back(std::abs(equation.residual));
    if (equation.error) errors.push_back(*equation.error);
  }
  std::sort(residuals.begin(), residuals.end());
  const auto measured = static_cast<size_t>(
      std::count_if(occurrences_.begin(), occurrences_.end(),
                    [](const std::vector<size_t>& equations) { return !equations.empty(); }));
  const size_t sides = second_side_ < effects_.size() ? 2 : 1;
  const size_t fitted = measured - sides + 1;
  // A fit by medians passes exactly through about as many equations as the model has effects. The
  // residuals of these equations are 0 and say nothing about the noise, so omit them. However, if
  // fewer than kFew residuals would remain, a single bad link could dominate the estimate. In that
  // case, use all residuals and correct for the degrees of freedom.
  constexpr size_t kFew = 4;
  double correction = 1;
  if (residuals.size() >= fitted + kFew) {
    residuals.erase(residuals.begin(), residuals.begin() + static_cast<std::ptrdiff_t>(fitted - 1));
  } else {
    const size_t free = residuals.size() > fitted ? residuals.size() - fitted : 1;
    correction = std::sqrt(static_cast<double>(residuals.size()) / static_cast<double>(free));
  }
  return std::max(kDeviationToMedian * MedianOf(residuals) * correction, MedianOf(errors));
}

double PairFit::UnbiasedEffect(size_t index) const {
  std::vector<double> residuals;
  for (const size_t i : occurrences_[index]) residuals.push_back(equations_[i].residual);
  return effects_[index] + MedianOf(std::move(residuals));
}

double PairFit::Cost() const {
  double cost = 0;
  for (const PairEquation& equation : equations_) cost += std::abs(equation.residual);
  for (const double effect : effects_) cost += std::abs(effect);
  return cost;
}

void PairFit::Sweep(double mean) {
  mean_ = mean;
  std::fill(effects_.begin(), effects_.end(), 0);
  for (PairEquation& equation : equations_) equation.residual = equation.score - mean;
  constexpr int kMaxSweeps = 100;
  double moved = std::numeric_limits<double>::infinity();
  for (int sweep = 0; sweep < kMaxSweeps && moved > kConverged; ++sweep) {
    moved = 0;
    for (size_t index = 0; index < effects_.size(); ++index) {
      const double step = Step(index);
      effects_[index] += step;
      for (const size_t i : occurrences_[index]) equations_[i].residual -= step;
      moved = std::max(moved, std::abs(step));
    }
    std::vector<double> residuals;
    for (const PairEquation& equation : equations_) residuals.push_back(equation.residual);
    const double step = MedianOf(std::move(residuals));
    mean_ += step;
    for (PairEquation& equation : equations_) equation.residual -= step;
    moved = std::max(moved, std::abs(step));
  }
}

// Returns the change of one effect that minimizes Cost() while all other effects stay fixed: the
// median of the residuals of the effect's equations and of the negated effect. Among equally good
// changes, prefers the one that brings the effect closest to 0.
double PairFit::Step(size_t index) const {
  if (occurrences_[index].empty()) return 0;
  std::vector<double> residuals = {-effects_[index]};
  for (const size_t i : occurrences_[index]) residuals.push_back(equations_[i].residual);
  std::sort(residuals.begin(), residuals.end());
  const size_t n = residuals.size();
  return std::clamp(-effects_[index], residuals[(n - 1) / 2], residuals[n / 2]);
}

// Makes the effects of one side relative to their median, and adds this median to the mean.
void PairFit::Centre(size_t begin, size_t end) {
  std::vector<double> measured;
  for (size_t index = begin; index < end; ++index) {
    if (!occurrences_[index].empty()) measured.push_back(effects_[index]);
  }
  const double middle = MedianOf(measured);
  for (size_t index = begin; index < end; ++index) {
    if (!occurrences_[index].empty()) effects_[index] -= middle;
  }
  // With one side, each equation has two of these effects.
  mean_ += second_side_ < effects_.size() ? middle : 2 * middle;
}

}  // namespace assay::analysis
