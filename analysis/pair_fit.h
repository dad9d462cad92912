// Robust least-absolute-deviations fit of an additive two-way model.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace assay::analysis {

// One equation of the model: score = mean + effects[first] + effects[second] + residual.
struct PairEquation {
  size_t first = 0;
  size_t second = 0;
  double score = 0;             // Higher is better.
  std::optional<double> error;  // Standard error of `score`.
  double residual = 0;          // Set by the fit.
};

// Fits the effects by medians, as median polish does (Tukey 1977), so that a minority of bad
// equations does not move them. It minimises the sum of |residual| and |effect|: one bad node then
// explains more than all of its links, and one bad link more than two nodes.
class PairFit {
 public:
  // Effects are numbered from 0 to `effects` - 1. Those from `second_side` on occur only as
  // `second`, and those before it only as `first`; if both are equal there is one side, whose
  // effects occur in both places. Without equations every effect is 0.
  PairFit(size_t effects, size_t second_side, std::vector<PairEquation> equations);

  // Returns the standard deviation of a score around the model: from the median residual, or from
  // the median error of the scores if that is larger. Returns 0 without equations.
  double Noise() const;

  // Returns an effect relative to the median effect of its side.
  double effect(size_t index) const { return effects_[index]; }

  // Returns the effect without the bias towards 0 that minimising |effect| causes.
  double UnbiasedEffect(size_t index) const;

  // Returns the score that two effects predict.
  double Expected(size_t first, size_t second) const {
    return mean_ + effects_[first] + effects_[second];
  }

  const std::vector<PairEquation>& equations() const { return equations_; }

  // Returns the indices of the equations in which an effect occurs.
  const std::vector<size_t>& EquationsOf(size_t index) const { return occurrences_[index]; }

 private:
  void Fit();
  void Sweep(double mean);
  double Cost() const;
  double Step(size_t index) const;
  void Centre(size_t begin, size_t end);

  const size_t second_side_;
  double mean_ = 0;
  std::vector<double> effects_;
  std::vector<PairEquation> equations_;
  std::vector<std::vector<size_t>> occurrences_;
};

}  // namespace assay::analysis
