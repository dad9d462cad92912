// Fits a scaling law of losses, L = A N^-a or L = E + A N^-a (Kaplan 2020, Hoffmann 2022).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "predict/answer.h"

namespace assay::predict {

enum class ScalingForm {
  kPower,          // ln L = ln A - a ln N, by least squares.
  kPowerAndFloor,  // L = E + A N^-a, by least squares over a of the best E >= 0 and A.
};

// One trained model.
struct ScalingPoint {
  double size = 0;    // N, or any other x.
  double loss = 0;    // L
  double tokens = 0;  // D; 0 if not known.
  std::string label;  // For the table; may be empty.
};

struct ScalingFit {
  ScalingForm form = ScalingForm::kPower;
  double floor = 0;     // E
  double factor = 0;    // A
  double exponent = 0;  // a; positive if the loss falls with the size.
  // The 95% confidence interval of the exponent, available only if there are more points than
  // fitted constants.
  struct Interval {
    double low = 0;
    double high = 0;
  };
  std::optional<Interval> interval;
  double r_squared = 0;  // For ln L; with a floor, for L.
  struct Used {
    ScalingPoint point;
    double fitted = 0;
    double residual = 0;  // loss / fitted - 1
  };
  std::vector<Used> used;  // By size.
  struct LeftOut {
    ScalingPoint point;
    std::string reason;
  };
  std::vector<LeftOut> left_out;

  double Predict(double size) const;
};

// Fits a scaling law of the given form, ignoring points whose size or loss is not positive. Returns
// an error about the input "x" unless at least three different sizes remain, the largest at least
// four times the smallest.
Result<ScalingFit> FitScalingLaw(const std::vector<ScalingPoint>& points, ScalingForm form);

// Returns the fit as terms, with a table of the points and their residuals.
Answer ScalingLawAnswer(const ScalingFit& fit);

}  // namespace assay::predict
