// Finds the ridge of a roofline from measured points, without a spec sheet (Williams 2009). The
// ridge is the intensity at which the slope, which bandwidth limits, meets the flat part, which
// arithmetic limits.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"
#include "predict/answer.h"

namespace assay::predict {

// One measured case.
struct IntensityPoint {
  double intensity = 0;  // FLOP per byte.
  double rate = 0;       // FLOP per second.
  std::string label;     // For the table; may be empty.
  // The reason why the point is shown but not used, for example because launches dominated its
  // time. Empty if the point is used.
  std::string left_out;
};

struct RooflineFit {
  double bandwidth = 0;  // Bytes per second.
  double peak = 0;       // FLOP per second.
  double ridge = 0;      // peak / bandwidth, in FLOP per byte.
  // Lowest and highest ridge of the fits that each leave out one of the points.
  double ridge_low = 0;
  double ridge_high = 0;
  std::vector<IntensityPoint> points;  // By intensity, also those left out.
  // By index in `points`: true if the point is used and lies on the slope.
  std::vector<bool> on_slope;

  // Returns min(bandwidth * intensity, peak).
  double Roof(double intensity) const;
};

// Fits min(B I, P). Divides the points by intensity into a slope and a flat part, so that the sum
// of the relative residuals is least. B and P are medians, so a single slow point affects neither.
// Leaves out points whose intensity or rate is not positive. Returns an error that names the input
// "points" if one of the parts would have fewer than two different intensities, or if the ridge
// would lie outside of the points.
Result<RooflineFit> FitRoofline(std::vector<IntensityPoint> points);

// Returns the fit as terms, with a table of the points and their residuals.
Answer RooflineFitAnswer(const RooflineFit& fit);

}  // namespace assay::predict
