// Finds the ridge of a roofline from measured points, without a spec sheet (Williams 2009).
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
  // Reason to show the point without using it, for example because launches took its time. Empty:
  // it is used.
  std::string left_out;
};

struct RooflineFit {
  double bandwidth = 0;  // Bytes per second.
  double peak = 0;       // FLOP per second.
  double ridge = 0;      // peak / bandwidth, in FLOP per byte.
  // Lowest and highest ridge of the fits that leave out one of the points.
  double ridge_low = 0;
  double ridge_high = 0;
  std::vector<IntensityPoint> points;  // By intensity, also those left out.
  // True for points that are used and lie on the slope, by index in `points`.
  std::vector<bool> on_slope;

  // Returns min(bandwidth * intensity, peak).
  double Roof(double intensity) const;
};

// Fits min(B I, P). Of all ways to call the points of lower intensity the slope and the others the
// flat part, takes the one whose relative residuals have the least sum; B and P are medians, so
// that one slow point moves neither. Leaves out points without a positive intensity and rate.
// Returns an error that names the input "points" if fewer than two intensities would lie on either
// part, or if the ridge would lie outside of the points.
Result<RooflineFit> FitRoofline(std::vector<IntensityPoint> points);

// Returns the fit as terms, with a table of the points and their residuals.
Answer RooflineFitAnswer(const RooflineFit& fit);

}  // namespace assay::predict
