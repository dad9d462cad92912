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

// Results on equal hardware with equal drivers and other parameters.
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
  // Number of results by benchmark, of the others.
  std::map<std::string, int> other_benchmarks;
};

// The fields that BandwidthsOf needs, and the restriction of a filter to results that have them.
const std::vector<std::string>& BandwidthFields();
std::string BandwidthFilter();

// Sorts a table of BandwidthFields into series, of the benchmark with the most sizes. Prefers bus
// bandwidth over bandwidth.
Bandwidths BandwidthsOf(const v1::TabulateResultsResponse& table);

// Each series is a line through letters; a legend names it with its best value and its knee.
std::string BandwidthPlot(const Bandwidths& bandwidths, const PlotStyle& style);
// One row or record per series and size.
std::string BandwidthTable(const Bandwidths& bandwidths, const Style& style);
std::string BandwidthCsv(const Bandwidths& bandwidths);
std::string BandwidthJson(const Bandwidths& bandwidths);

}  // namespace assay::cli
