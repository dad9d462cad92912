// The robust fit behind the analysis of pairs: an additive model of two-way effects. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace assay::cli {

// One equation of the model: score = mu + effect of `first` + effect of `second` + residual.
// A slot is a node, or one of its two sides.
struct PairTerm {
  size_t first = 0;
  size_t second = 0;
  double score = 0;  // Higher is better.
  // Standard error of `score`; absent if unknown.
  std::optional<double> error;
  double residual = 0;
};

// The median, of an even number the mean of the middle two; 0 of none.
double MedianOf(std::vector<double> values);

// Fitted by medians, as median polish (Tukey 1977): a minority of bad links does not move the
// effects.
class PairFit {
 public:
  // Slots from `second_side` on are those of receiving; none if it is `slots`. Without terms
  // every effect is 0.
  PairFit(size_t slots, size_t second_side, std::vector<PairTerm> terms);

  // Standard deviation of a score around the model: by what the model leaves, in medians so
  // that bad links do not count, or by the errors of the scores where those are larger. 0
  // without terms.
  double Noise() const;

  // Relative to the median slot of its side.
  double effect(size_t slot) const { return effects_[slot]; }
  // Without what the fit took off for the sake of few and small effects.
  double WholeEffect(size_t slot) const;
  // The score of two slots without a deviation of their link.
  double Expected(size_t first, size_t second) const {
    return mu_ + effects_[first] + effects_[second];
  }
  size_t count(size_t slot) const { return of_[slot].size(); }
  const std::vector<PairTerm>& terms() const { return terms_; }
  // Indices of the terms that the slot is in.
  const std::vector<size_t>& of(size_t slot) const { return of_[slot]; }

 private:
  void Fit();
  void Sweep(double mu);
  double Cost() const;
  double Step(size_t slot) const;
  void Centre(size_t begin, size_t end);

  const size_t second_side_;
  double mu_ = 0;
  std::vector<double> effects_;
  std::vector<PairTerm> terms_;
  std::vector<std::vector<size_t>> of_;
};

}  // namespace assay::cli
