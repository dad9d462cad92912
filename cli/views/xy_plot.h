// Plots values over a logarithmic x axis as text.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/views/plot_canvas.h"

namespace assay::cli {

struct PlotPoint {
  double x = 0;
  double y = 0;
  char symbol = 'x';
};

// A line that connects each point to the next. The segments are straight on the screen, even if an
// axis is logarithmic.
struct PlotLine {
  std::vector<std::pair<double, double>> points;
  int step = 1;  // Draws every so many-th dot, to tell lines apart.
};

struct XyPlot {
  std::string x_unit;  // "B" gives ticks at powers of two, such as 64KiB.
  std::string y_unit;
  // If true, the y axis is logarithmic. Otherwise it is linear and begins at 0.
  bool log_y = false;
  std::vector<PlotLine> lines;
  // Points are drawn over lines. If several points fall on one character, the first one is shown.
  std::vector<PlotPoint> points;
};

// Returns the plot with its axes, as lines of text. Shows only values that are finite and, on a
// logarithmic axis, positive. Returns an empty string if no value can be shown.
std::string DrawXyPlot(const XyPlot& plot, const PlotStyle& style);

// Returns a number with at most three significant digits and its unit: "4.8 TB/s".
std::string ShortQuantity(double value, const std::string& unit);

}  // namespace assay::cli
