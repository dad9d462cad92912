// Shows bandwidth against size, for `assay plot bandwidth`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "assay/v1/result_service.pb.h"
#include "cli/views/plot_canvas.h"
#include "cli/views/table.h"

namespace assay::cli {

// The bandwidth at one size: the median over results.
struct BandwidthPoint {
  double bytes = 0;
  double median = 0;
  int results = 0;
};

// The results that have the same hardware, driver and parameters other than the size.
struct BandwidthSeries {
  std::string name;                    // "8x H200 SXM, driver 580.95.05"
  std::vector<BandwidthPoint> points;  // By size.
  std::optional<double> knee_bytes;    // Median of the link models, see LinkModel.knee_bytes.
};

struct Bandwidths {
  std::string benchmark;
  std::string metric;
  std::string unit;
  std::vector<BandwidthSeries> series;  // The fastest first.
  // The numbers of results of other benchmarks, which are left out, by benchmark.
  std::map<std::string, int> other_benchmarks;
};

// Return the fields that BandwidthsOf needs, and a filter for results that have these fields.
const std::vector<std::string>& BandwidthFields();
std::string BandwidthFilter();

// Groups the rows of a table into series. All rows of a series have the same hardware, driver and
// parameters, apart from the size. The table must have the columns BandwidthFields(). Uses only the
// benchmark with the most distinct sizes, and only one metric, preferably the bus bandwidth.
Bandwidths BandwidthsOf(const v1::TabulateResultsResponse& table);

// Plots each series as a line through points shown as letters. The legend below the plot gives the
// name of each series, its best value and its knee, the size at which latency accounts for half of
// the time.
std::string BandwidthPlot(const Bandwidths& bandwidths, const PlotStyle& style);
// Return one row or record per series and size.
std::string BandwidthTable(const Bandwidths& bandwidths, const Style& style);
std::string BandwidthCsv(const Bandwidths& bandwidths);
std::string BandwidthJson(const Bandwidths& bandwidths);

}  // namespace assay::cli
