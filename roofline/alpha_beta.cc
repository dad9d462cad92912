#include "roofline/alpha_beta.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

namespace assay {
namespace {

constexpr size_t kMinSizes = 3;
constexpr double kMinSpan = 8;

bool Positive(double value) { return std::isfinite(value) && value > 0; }

// Returns the middle value, or the mean of the two middle ones.
double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

struct Line {
  double alpha = 0;    // Latency in seconds.
  double inverse = 0;  // 1 / beta: seconds per byte.
};

// Fits the line seconds = alpha + bytes * inverse to the points. Minimizes the sum of the squared
// relative errors, ((alpha + bytes * inverse) / seconds - 1)^2.
Line LeastSquares(const std::vector<SizedTime>& points) {
  double xx = 0, xy = 0, yy = 0, x_sum = 0, y_sum = 0;
  for (const SizedTime& point : points) {
    const double x = 1 / point.seconds;
    const double y = point.bytes / point.seconds;
    xx += x * x;
    xy += x * y;
    yy += y * y;
    x_sum += x;
    y_sum += y;
  }
  const double determinant = xx * yy - xy * xy;
  const Line line = {(x_sum * yy - y_sum * xy) / determinant,
                     (y_sum * xx - x_sum * xy) / determinant};
  // A latency cannot be negative. The best line without a latency passes through the origin.
  return line.alpha >= 0 ? line : Line{0, y_sum / yy};
}

// Fits the model to points of at least two sizes, without computing AlphaBeta::error.
std::optional<AlphaBeta> ModelOf(const std::vector<SizedTime>& points) {
  const Line line = LeastSquares(points);
  if (!std::isfinite(line.alpha) || !Positive(line.inverse)) return std::nullopt;
  const auto [smallest, largest] =
      std::minmax_element(points.begin(), points.end(),
                          [](const SizedTime& x, const SizedTime& y) { return x.bytes < y.bytes; });
  AlphaBeta model;
  model.latency_seconds = line.alpha;
  model.bandwidth = 1 / line.inverse;
  model.points = static_cast<int>(points.size());
  model.smallest_bytes = smallest->bytes;
  model.largest_bytes = largest->bytes;
  return model;
}

// Tests how well a model predicts a size to which it was not fitted. Fits a model to all sizes
// except `bytes`, predicts the times for that size, and appends the relative errors to `errors`. If
// no model can be fitted, appends 1 for each time. Appends nothing if the size is too far from the
// others for a prediction.
void AddErrors(const std::vector<SizedTime>& points, double bytes, std::vector<double>* errors) {
  std::vector<SizedTime> others;
  std::copy_if(points.begin(), points.end(), std::back_inserter(others),
               [&](const SizedTime& point) { return point.bytes != bytes; });
  const auto model = ModelOf(others);
  if (model && !model->Covers(bytes)) return;
  for (const SizedTime& point : points) {
    if (point.bytes != bytes) continue;
    errors->push_back(model ? std::fabs(model->Seconds(bytes) / point.seconds - 1) : 1);
  }
}

}  // namespace

std::optional<AlphaBeta> FitAlphaBeta(const std::vector<SizedTime>& points) {
  std::set<double> sizes;
  for (const SizedTime& point : points) {
    if (!Positive(point.bytes) || !Positive(point.seconds)) return std::nullopt;
    sizes.insert(point.bytes);
  }
  if (sizes.size() < kMinSizes || *sizes.rbegin() < kMinSpan * *sizes.begin()) return std::nullopt;
  auto model = ModelOf(points);
  if (!model) return std::nullopt;
  std::vector<double> errors;  // Never empty, because a size between others is covered.
  for (const double bytes : sizes) AddErrors(points, bytes, &errors);
  model->error = Median(std::move(errors));
  return model;
}

}  // namespace assay
