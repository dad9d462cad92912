// Finds results that differ from the rest of their series.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "assay/v1/result_service.pb.h"

namespace assay::cli {

// The medians of a list of results, by series.
class SeriesMedians {
 public:
  explicit SeriesMedians(const std::vector<v1::StoredResult>& results);

  // Returns whether the median of `result`, one of the listed results, is further from the median
  // of the other listed results of its series than kNoisy and than its own 95% interval. A narrow
  // interval only says that a run repeats its own value, so it never excuses a difference. Returns
  // false for counts, and for results without others in their series.
  bool IsOff(const v1::StoredResult& result) const;

 private:
  using Key = std::pair<std::string, std::string>;  // Series and metric.

  std::map<Key, std::vector<double>> medians_;  // Sorted.
};

}  // namespace assay::cli
