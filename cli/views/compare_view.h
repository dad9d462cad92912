// Stored results beside published measurements of the same case. Pure.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/result_service.pb.h"
#include "cli/views/table.h"
#include "roofline/published.h"

namespace assay::cli {

// A result and one figure that it compares with; neither is owned.
struct Comparison {
  const v1::StoredResult* result = nullptr;
  const PublishedFigure* figure = nullptr;
  double published = 0;  // In the result's unit.
  // How many times as good the result is: above 1 it is better than published.
  double ratio = 0;
};

struct Comparisons {
  std::vector<Comparison> rows;  // In the order of the results.
  size_t unmatched = 0;          // Measured cases without a figure of any metric.
};

// `results` outlive what is returned.
Comparisons CompareWithPublished(const std::vector<v1::StoredResult>& results);

// "metric = "tflops" OR ...": results of the metrics that figures are of.
std::string PublishedMetricsFilter();

std::string ComparisonTable(const Comparisons& comparisons, const Style& style);
// One record a comparison.
std::string ComparisonCsv(const Comparisons& comparisons);
// An array, one object a line.
std::string ComparisonJson(const Comparisons& comparisons);

// What was published of the benchmarks and GPUs of `results` (of all GPUs if theirs are
// not known), as a table; if nothing was, which benchmarks and GPUs there are, in words.
std::string PublishedText(const std::vector<v1::StoredResult>& results, const Style& style);

}  // namespace assay::cli
