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

// Straight lines on the screen from each point to the next.
struct PlotLine {
  std::vector<std::pair<double, double>> points;
  int step = 1;  // Draws every so many-th dot, to tell lines apart.
};

struct XyPlot {
  std::string x_unit;  // "B" gives ticks at powers of two, such as 64KiB.
  std::string y_unit;
  // Otherwise the y axis begins at 0.
  bool log_y = false;
  std::vector<PlotLine> lines;
  // Drawn over lines. The first of several at one character is shown.
  std::vector<PlotPoint> points;
};

// Returns the lines of the plot with its axes, or an empty string if no point or line has a value
// that the axes can show: finite, and positive on a logarithmic axis.
std::string DrawXyPlot(const XyPlot& plot, const PlotStyle& style);

// Returns a number with at most three significant digits and its unit: "4.8 TB/s".
std::string ShortQuantity(double value, const std::string& unit);

}  // namespace assay::cli
