#include "predict/scaling_law.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "predict/topic.h"

namespace assay::predict {
namespace {

constexpr size_t kLeastSizes = 3;
constexpr double kLeastSpan = 4;

// Returns the 97.5th percentile of Student's t.
double StudentLimit(size_t freedom) {
  static constexpr double kLimits[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                       2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                       2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                       2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  if (freedom <= std::size(kLimits)) return kLimits[freedom - 1];
  // From here on, the first terms of the expansion in 1/freedom are correct to 3 decimals.
  return 1.95996 + 2.37227 / static_cast<double>(freedom) +
         2.8225 / static_cast<double>(freedom * freedom);
}

// A straight line y = intercept + slope x by least squares.
struct Line {
  double intercept = 0;
  double slope = 0;
  double squares = 0;    // Sum of squared residuals.
  double spread = 0;     // Sum of squares of x around its mean.
  double variation = 0;  // Sum of squares of y around its mean.
};

Line FitLine(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  double mean_x = 0;
  double mean_y = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    mean_x += x[i] / n;
    mean_y += y[i] / n;
  }
  Line line;
  double product = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    line.spread += (x[i] - mean_x) * (x[i] - mean_x);
    line.variation += (y[i] - mean_y) * (y[i] - mean_y);
    product += (x[i] - mean_x) * (y[i] - mean_y);
  }
  line.slope = line.spread > 0 ? product / line.spread : 0;
  line.intercept = mean_y - line.slope * mean_x;
  for (size_t i = 0; i < x.size(); ++i) {
    const double residual = y[i] - line.intercept - line.slope * x[i];
    line.squares += residual * residual;
  }
  return line;
}

void FitPower(const std::vector<double>& log_size, const std::vector<double>& loss,
              ScalingFit& fit) {
  std::vector<double> log_loss;
  for (const double value : loss) log_loss.push_back(std::log(value));
  const Line line = FitLine(log_size, log_loss);
  fit.exponent = -line.slope;
  fit.factor = std::exp(line.intercept);
  fit.r_squared = line.variation > 0 ? 1 - line.squares / line.variation : 0;
  const size_t freedom = loss.size() - 2;
  const double error = std::sqrt(line.squares / static_cast<double>(freedom) / line.spread);
  const double half = StudentLimit(freedom) * error;
  fit.interval = ScalingFit::Interval{fit.exponent - half, fit.exponent + half};
}

// Fits the law L = E + A N^-a to the losses L for a given exponent a. Returns the best A and the
// best non-negative E. Sizes N are relative to their geometric mean, so that their powers do not
// overflow.
Line FitForExponent(const std::vector<double>& log_size, const std::vector<double>& loss,
                    double exponent) {
  std::vector<double> power;
  for (const double value : log_size) power.push_back(std::exp(-exponent * value));
  Line line = FitLine(power, loss);
  if (line.intercept >= 0) return line;
  double product = 0;
  double square = 0;
  for (size_t i = 0; i < loss.size(); ++i) {
    product += power[i] * loss[i];
    square += power[i] * power[i];
  }
  line.intercept = 0;
  line.slope = product / square;
  line.squares = 0;
  for (size_t i = 0; i < loss.size(); ++i) {
    const double residual = loss[i] - line.slope * power[i];
    line.squares += residual * residual;
  }
  return line;
}

// Returns the variance of the fitted exponent, assuming that the losses have a variance of 1.
// Returns nullopt if the least-squares equations are singular.
std::optional<double> ExponentVariance(const std::vector<double>& log_size, const Line& line,
                                       double exponent) {
  std::array<std::array<double, 3>, 3> normal{};
  for (const double value : log_size) {
    const double power = std::exp(-exponent * value);
    const std::array<double, 3> row = {1, power, -line.slope * value * power};
    for (size_t i = 0; i < 3; ++i) {
      for (size_t j = 0; j < 3; ++j) normal[i][j] += row[i] * row[j];
    }
  }
  const auto minor = [&](size_t i, size_t j, size_t k, size_t l) {
    return normal[i][j] * normal[k][l] - normal[i][l] * normal[k][j];
  };
  const double last = minor(0, 0, 1, 1);
  const double determinant =
      normal[2][0] * minor(0, 1, 1, 2) - normal[2][1] * minor(0, 0, 1, 2) + normal[2][2] * last;
  const double scale = normal[0][0] * normal[1][1] * normal[2][2];
  if (!(determinant > 1e-14 * scale)) return std::nullopt;
  return last / determinant;
}

void FitPowerAndFloor(const std::vector<double>& log_size, const std::vector<double>& loss,
                      ScalingFit& fit) {
  double mean = 0;
  for (const double value : log_size) mean += value / static_cast<double>(log_size.size());
  std::vector<double> centred;
  for (const double value : log_size) centred.push_back(value - mean);
  const auto squares = [&](double exponent) {
    return FitForExponent(centred, loss, exponent).squares;
  };
  // A grid search locates the region of the minimum, and a ternary search then finds the minimum
  // itself. The grid covers all plausible exponents: published ones lie between 0.03 and 0.6.
  constexpr double kStep = 1.02;
  double best = 1e-3;
  for (double exponent = 1e-3; exponent < 4; exponent *= kStep) {
    if (squares(exponent) < squares(best)) best = exponent;
  }
  double low = best / kStep;
  double high = best * kStep;
  for (int i = 0; i < 200; ++i) {
    const double third = (high - low) / 3;
    if (squares(low + third) < squares(high - third)) {
      high -= third;
    } else {
      low += third;
    }
  }
  fit.exponent = (low + high) / 2;
  const Line line = FitForExponent(centred, loss, fit.exponent);
  fit.floor = line.intercept;
  fit.factor = line.slope * std::exp(fit.exponent * mean);
  fit.r_squared = line.variation > 0 ? 1 - line.squares / line.variation : 0;
  if (loss.size() <= 3) return;
  const size_t freedom = loss.size() - 3;
  if (const auto variance = ExponentVariance(centred, line, fit.exponent)) {
    const double half =
        StudentLimit(freedom) * std::sqrt(*variance * line.squares / static_cast<double>(freedom));
    fit.interval = ScalingFit::Interval{fit.exponent - half, fit.exponent + half};
  }
}

}  // namespace

double ScalingFit::Predict(double size) const {
  return floor + factor * std::exp(-exponent * std::log(size));
}

Result<ScalingFit> FitScalingLaw(const std::vector<ScalingPoint>& points, ScalingForm form) {
  ScalingFit fit;
  fit.form = form;
  std::set<double> sizes;
  for (const ScalingPoint& point : points) {
    const auto usable = [](double value) { return std::isfinite(value) && value > 0; };
    if (!usable(point.size)) {
      fit.left_out.push_back({point, "size is not positive"});
    } else if (!usable(point.loss)) {
      fit.left_out.push_back({point, "loss is not positive"});
    } else {
      fit.used.push_back({point, 0, 0});
      sizes.insert(point.size);
    }
  }
  if (sizes.size() < kLeastSizes) {
    return Refuse("x",
                  "only " + std::to_string(sizes.size()) +
                      " different sizes have a loss; a fit needs at least 3",
                  "train more sizes, or select more results");
  }
  const double span = *sizes.rbegin() / *sizes.begin();
  if (span < kLeastSpan) {
    return Refuse("x",
                  "the largest size is only " + FormatQuantity(span, Unit::kNumber) +
                      " times the smallest; a fit needs at least 4 times",
                  "train sizes that are farther apart");
  }
  std::stable_sort(fit.used.begin(), fit.used.end(),
                   [](const ScalingFit::Used& a, const ScalingFit::Used& b) {
                     return a.point.size < b.point.size;
                   });
  std::vector<double> log_size;
  std::vector<double> loss;
  for (const ScalingFit::Used& used : fit.used) {
    log_size.push_back(std::log(used.point.size));
    loss.push_back(used.point.loss);
  }
  form == ScalingForm::kPower ? FitPower(log_size, loss, fit)
                              : FitPowerAndFloor(log_size, loss, fit);
  for (ScalingFit::Used& used : fit.used) {
    used.fitted = fit.Predict(used.point.size);
    used.residual = used.point.loss / used.fitted - 1;
  }
  return fit;
}

Answer ScalingLawAnswer(const ScalingFit& fit) {
  const bool floor = fit.form == ScalingForm::kPowerAndFloor;
  const char* const source = floor ? "Hoffmann 2022" : "Kaplan 2020";
  Answer answer;
  answer.Add("points_used", static_cast<double>(fit.used.size()), Unit::kCount, "finite, positive");
  answer.Add("points_left_out", static_cast<double>(fit.left_out.size()), Unit::kCount,
             "without a positive size and loss");
  answer.Add("span", fit.used.back().point.size / fit.used.front().point.size, Unit::kNumber,
             "largest size / smallest");
  double worst = 0;
  double squares = 0;
  for (const ScalingFit::Used& used : fit.used) {
    worst = std::max(worst, std::fabs(used.residual));
    squares += used.residual * used.residual;
  }
  answer.Add("residual_rms", std::sqrt(squares / static_cast<double>(fit.used.size())),
             Unit::kFraction, "root mean square of loss / fitted - 1");
  answer.Add("residual_worst", worst, Unit::kFraction, "largest of them");
  answer.Add("r_squared", fit.r_squared, Unit::kNumber,
             floor ? "1 - squares / variation of L" : "1 - squares / variation of ln L");
  if (floor) answer.Add("floor", fit.floor, Unit::kNumber, "E", source);
  answer.Add("factor", fit.factor, Unit::kNumber, "A", source);
  answer.Add("exponent", fit.exponent, Unit::kNumber, floor ? "a: L = E + A N^-a" : "a: L = A N^-a",
             source);
  answer.headline = "L = " + (floor ? FormatQuantity(fit.floor, Unit::kNumber) + " + " : "") +
                    FormatQuantity(fit.factor, Unit::kNumber) + " N^" +
                    FormatQuantity(-fit.exponent, Unit::kNumber);
  if (fit.interval) {
    answer.terms.back().low = fit.interval->low;
    answer.terms.back().high = fit.interval->high;
    answer.Add("exponent_low", fit.interval->low, Unit::kNumber, "95% interval, Student's t");
    answer.Add("exponent_high", fit.interval->high, Unit::kNumber, "95% interval, Student's t");
    answer.headline += "; the exponent lies between " +
                       FormatQuantity(fit.interval->low, Unit::kNumber) + " and " +
                       FormatQuantity(fit.interval->high, Unit::kNumber) + " with 95% confidence";
  } else {
    answer.notes.push_back(
        "No interval: there are no more points than constants, or they leave "
        "the exponent open.");
  }
  answer.headline += ".";
  if (fit.exponent <= 0) {
    answer.notes.push_back("The loss does not fall with the size: no scaling law to rely on.");
  }
  answer.notes.push_back(
      "Holds between the smallest and the largest size. Models that saw too little data, or one "
      "seed each, bend it.");
  Grid grid;
  grid.title = "points";
  grid.columns = {{"label", Unit::kNumber},      {"size", Unit::kParameters},
                  {"loss", Unit::kNumber},       {"fitted", Unit::kNumber},
                  {"residual", Unit::kFraction}, {"tokens_per_parameter", Unit::kNumber},
                  {"left_out", Unit::kNumber}};
  const auto number = [](double value) {
    return std::isfinite(value) ? Grid::Cell(value) : Grid::Cell();
  };
  const auto ratio = [](const ScalingPoint& point) {
    return point.tokens > 0 && point.size > 0 ? Grid::Cell(point.tokens / point.size)
                                              : Grid::Cell();
  };
  for (const ScalingFit::Used& used : fit.used) {
    grid.rows.push_back({used.point.label, used.point.size, used.point.loss, used.fitted,
                         used.residual, ratio(used.point), Grid::Cell()});
  }
  for (const ScalingFit::LeftOut& left : fit.left_out) {
    grid.rows.push_back({left.point.label, number(left.point.size), number(left.point.loss),
                         Grid::Cell(), Grid::Cell(), ratio(left.point), left.reason});
  }
  answer.grids.push_back(std::move(grid));
  return answer;
}

}  // namespace assay::predict
