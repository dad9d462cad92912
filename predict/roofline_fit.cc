#include "predict/roofline_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>

namespace assay::predict {
namespace {

constexpr size_t kLeastOnAPart = 2;

struct RoofParts {
  double bandwidth = 0;
  double peak = 0;
  size_t on_slope = 0;  // Number of points of the lowest intensities.
};

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Returns the sum of the relative deviations of the points from min(bandwidth * intensity, peak).
double ResidualsOf(const std::vector<IntensityPoint>& points, double bandwidth, double peak) {
  double sum = 0;
  for (const IntensityPoint& point : points) {
    sum += std::fabs(std::log(point.rate / std::min(bandwidth * point.intensity, peak)));
  }
  return sum;
}

// Fits a single line to all points: first a slope (limited by bandwidth), then a flat line (limited
// by arithmetic). Returns the sum of residuals of the better fit.
double ResidualsOfOnePart(const std::vector<IntensityPoint>& points) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  std::vector<double> bandwidths;
  std::vector<double> peaks;
  for (const IntensityPoint& point : points) {
    bandwidths.push_back(point.rate / point.intensity);
    peaks.push_back(point.rate);
  }
  return std::min(ResidualsOf(points, MedianOf(bandwidths), kNone),
                  ResidualsOf(points, kNone, MedianOf(peaks)));
}

// Returns the best split of the points, sorted by intensity, into a slope and a flat part, or
// nullopt if no split fits better than a slope alone or a flat line alone.
std::optional<RoofParts> BestParts(const std::vector<IntensityPoint>& points) {
  if (points.empty()) return std::nullopt;
  std::optional<RoofParts> best;
  double least = ResidualsOfOnePart(points);
  for (size_t split = 1; split < points.size(); ++split) {
    if (points[split].intensity == points[split - 1].intensity) continue;
    std::vector<double> bandwidths;
    std::vector<double> peaks;
    std::set<double> left;
    std::set<double> right;
    for (size_t i = 0; i < points.size(); ++i) {
      const IntensityPoint& point = points[i];
      if (i < split) {
        bandwidths.push_back(point.rate / point.intensity);
        left.insert(point.intensity);
      } else {
        peaks.push_back(point.rate);
        right.insert(point.intensity);
      }
    }
    if (left.size() < kLeastOnAPart || right.size() < kLeastOnAPart) continue;
    const RoofParts parts{MedianOf(bandwidths), MedianOf(peaks), split};
    const double ridge = parts.peak / parts.bandwidth;
    if (ridge < points.front().intensity || ridge > points.back().intensity) continue;
    const double residuals = ResidualsOf(points, parts.bandwidth, parts.peak);
    if (residuals < least) {
      least = residuals;
      best = parts;
    }
  }
  return best;
}

}  // namespace

double RooflineFit::Roof(double intensity) const { return std::min(bandwidth * intensity, peak); }

Result<RooflineFit> FitRoofline(std::vector<IntensityPoint> points) {
  RooflineFit fit;
  std::sort(points.begin(), points.end(),
            [](const auto& a, const auto& b) { return a.intensity < b.intensity; });
  std::vector<IntensityPoint> used;
  for (IntensityPoint& point : points) {
    const bool positive = std::isfinite(point.intensity) && std::isfinite(point.rate) &&
                          point.intensity > 0 && point.rate > 0;
    if (point.left_out.empty() && !positive) point.left_out = "no positive intensity and rate";
    if (point.left_out.empty()) used.push_back(point);
  }
  const std::optional<RoofParts> parts = BestParts(used);
  if (!parts) {
    const std::string what = std::to_string(used.size()) +
                             " points show no ridge: at least two intensities must lie on "
                             "the slope and two on the flat part";
    return InvalidArgument(what)
        .WithViolations({{"points", what, 0}})
        .WithHint("measure cases from far below to far above the ridge, as examples/roofline.yaml");
  }
  fit.bandwidth = parts->bandwidth;
  fit.peak = parts->peak;
  fit.ridge = fit.ridge_low = fit.ridge_high = fit.peak / fit.bandwidth;
  for (size_t left_out = 0; left_out < used.size(); ++left_out) {
    std::vector<IntensityPoint> others = used;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(left_out));
    const std::optional<RoofParts> without = BestParts(others);
    if (!without) continue;
    const double ridge = without->peak / without->bandwidth;
    fit.ridge_low = std::min(fit.ridge_low, ridge);
    fit.ridge_high = std::max(fit.ridge_high, ridge);
  }
  size_t seen = 0;
  for (const IntensityPoint& point : points) {
    fit.on_slope.push_back(point.left_out.empty() && seen++ < parts->on_slope);
  }
  fit.points = std::move(points);
  return fit;
}

Answer RooflineFitAnswer(const RooflineFit& fit) {
  Answer answer;
  const auto slope = std::count(fit.on_slope.begin(), fit.on_slope.end(), true);
  const auto left_out = std::count_if(fit.points.begin(), fit.points.end(),
                                      [](const auto& point) { return !point.left_out.empty(); });
  const auto flat = static_cast<std::ptrdiff_t>(fit.points.size()) - left_out - slope;
  answer.Add("points_on_slope", static_cast<double>(slope), Unit::kCount, "limited by memory");
  answer.Add("points_on_flat", static_cast<double>(flat), Unit::kCount, "limited by arithmetic");
  answer.Add("points_left_out", static_cast<double>(left_out), Unit::kCount, "see the table");
  answer.Add("bandwidth", fit.bandwidth, Unit::kBytesPerSecond,
             "B: median of rate / intensity on the slope");
  answer.Add("peak", fit.peak, Unit::kFlopPerSecond, "P: median rate on the flat part");
  answer.Add("ridge", fit.ridge, Unit::kFlopPerByte, "P / B", "Williams 2009");
  answer.terms.back().low = fit.ridge_low;
  answer.terms.back().high = fit.ridge_high;
  answer.headline = "The ridge is at " + FormatQuantity(fit.ridge, Unit::kFlopPerByte) +
                    ", between " + FormatQuantity(fit.ridge_low, Unit::kFlopPerByte) + " and " +
                    FormatQuantity(fit.ridge_high, Unit::kFlopPerByte) +
                    " without any one of the points.";
  Grid grid;
  grid.title = "points";
  grid.columns = {{"label", Unit::kNumber},       {"intensity", Unit::kFlopPerByte},
                  {"rate", Unit::kFlopPerSecond}, {"roof", Unit::kFlopPerSecond},
                  {"residual", Unit::kFraction},  {"part", Unit::kNumber}};
  const auto number = [](double value) {
    return std::isfinite(value) ? Grid::Cell(value) : Grid::Cell();
  };
  for (size_t i = 0; i < fit.points.size(); ++i) {
    const IntensityPoint& point = fit.points[i];
    const bool used = point.left_out.empty();
    const double roof = fit.Roof(point.intensity);
    grid.rows.push_back({point.label, number(point.intensity), number(point.rate),
                         used ? Grid::Cell(roof) : Grid::Cell(),
                         used ? Grid::Cell(point.rate / roof - 1) : Grid::Cell(),
                         used ? (fit.on_slope[i] ? "slope" : "flat") : point.left_out});
  }
  answer.grids.push_back(std::move(grid));
  return answer;
}

}  // namespace assay::predict
