// Renders results as tables and compares them with published measurements of the same case. No I/O.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "assay/v1/result_service.pb.h"
#include "cli/views/result_marks.h"
#include "cli/views/table.h"
#include "roofline/published.h"

namespace assay::cli {

// Renders results as text: a line with the values that all rows share, the table of results, the
// table of hardware counters, and a legend of the flags. The column "±%" shows half the width of
// the median's 95% confidence interval, in percent of the median, and is empty for results with too
// few samples. A flag marks results that differ from comparable ones (see SeriesMedians).
std::string ResultsTable(const std::vector<v1::StoredResult>& results, const Style& style);

// Renders a table of hardware counters and kernel names, with one row per case that has counters.
// If there is only one case, it gets a row even without counters, provided that anything was
// recorded about its kernels. Adds numbered notes to `marks`. `varying` comes from FindVarying. The
// text begins with an empty line. Returns an empty string if the table has no rows.
std::string CountersTable(const std::vector<v1::StoredResult>& results,
                          const std::map<std::string, std::set<std::string>>& varying,
                          const Style& style, Marks& marks);

// A result and one published figure of its case. Owns neither.
struct Comparison {
  const v1::StoredResult* result = nullptr;
  const PublishedFigure* figure = nullptr;
  double published = 0;  // Converted to the result's unit.
  // The performance of the result divided by that of the published figure. A ratio above 1 means
  // that the result is better, even if the metric is a time.
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

// Returns a table of published measurements for the benchmarks and GPUs of `results`, or for all
// GPUs if those of `results` are unknown. If there are none, returns a sentence listing the
// benchmarks and GPUs with published measurements.
std::string PublishedText(const std::vector<v1::StoredResult>& results, const Style& style);

}  // namespace assay::cli
