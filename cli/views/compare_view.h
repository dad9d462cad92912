// Compares stored results with published measurements of the same case. Pure.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/result_service.pb.h"
#include "cli/views/table.h"
#include "roofline/published.h"

namespace assay::cli {

// A result and one published figure of its case. Owns neither.
struct Comparison {
  const v1::StoredResult* result = nullptr;
  const PublishedFigure* figure = nullptr;
  double published = 0;  // Converted to the result's unit.
  // Above 1 the result is better than the published figure, in the direction of its metric.
  double ratio = 0;
};

struct Comparisons {
  std::vector<Comparison> rows;  // In the order of the results.
  size_t unmatched = 0;          // Measured cases for which nothing was published.
};

// Finds the published figures of `results`, which must outlive the returned value.
Comparisons CompareWithPublished(const std::vector<v1::StoredResult>& results);

// Returns a filter for results with a metric that was published: `metric = "tflops" OR ...`.
std::string PublishedMetricsFilter();

std::string ComparisonTable(const Comparisons& comparisons, const Style& style);
// Returns one record per comparison, after a header.
std::string ComparisonCsv(const Comparisons& comparisons);
// Returns an array with one object per line.
std::string ComparisonJson(const Comparisons& comparisons);

// Returns a table of what was published for the benchmarks and GPUs of `results`, or for all GPUs
// if theirs are unknown. If nothing was, returns a sentence that lists the published benchmarks and
// GPUs.
std::string PublishedText(const std::vector<v1::StoredResult>& results, const Style& style);

}  // namespace assay::cli
