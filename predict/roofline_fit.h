// Finds the ridge of a GPU's roofline from measured points, without a spec sheet (Williams 2009).
// The ridge is the arithmetic intensity at which the roofline's slope, limited by bandwidth, meets
// its flat part, limited by arithmetic.
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
  // The reason why the fit ignores this point, such as a time dominated by kernel launches. Empty
  // if the fit uses it.
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

// Fits a roofline to the points: a slope, limited by bandwidth, and a flat part, limited by
// arithmetic. The height of each part is a median, so a single slow point affects neither. Leaves
// out points whose intensity or rate is not positive. Returns an error about the input "points" if
// either part would have fewer than two distinct intensities, or if the ridge would lie outside the
// range of the points.
Result<RooflineFit> FitRoofline(std::vector<IntensityPoint> points);

// Returns the fit as terms, with a table of the points and their residuals.
Answer RooflineFitAnswer(const RooflineFit& fit);

}  // namespace assay::predict
