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

// A fit of the model score = mean + effects[first] + effects[second] + residual to scores measured
// between pairs of nodes. Uses repeated medians, as in median polish (Tukey 1977), so that a
// minority of bad measurements does not influence the fit. The fit minimizes the sum of all
// |residual| and |effect|. A bad node therefore causes one large effect instead of many large
// residuals, and a bad link causes one large residual instead of two large effects.
class PairFit {
 public:
  // Fits the model to `equations`. Effects are numbered from 0 to `effects` - 1. Without equations,
  // all effects are 0.
  // If each node has a single effect, `second_side` equals `effects`. If nodes have separate
  // effects as senders and receivers, those of receivers start at `second_side`, and in each
  // equation, `first` is the sender's effect and `second` the receiver's.
  PairFit(size_t effects, size_t second_side, std::vector<PairEquation> equations);

  // Returns the noise: the standard deviation of the scores around the fitted model. It is the
  // larger of two estimates, one from the median residual and one from the median standard error of
  // the scores. Returns 0 if there are no equations.
  double Noise() const;

  // Returns an effect relative to the median effect of its side.
  double effect(size_t index) const { return effects_[index]; }

  // Returns the effect without the bias towards 0 that minimizing |effect| causes.
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
