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

  // Returns true if the median of `result` differs from that of comparable results (its series) in
  // the list. The difference must exceed both kNoisy and the uncertainty of `result`. The
  // uncertainty alone is not a good limit, because the samples within a run may agree closely even
  // if the runs differ. Returns false for counts, or if the list contains no other results of this
  // series.
  bool IsOff(const v1::StoredResult& result) const;

 private:
  using Key = std::pair<std::string, std::string>;  // Series and metric.

  std::map<Key, std::vector<double>> medians_;  // Sorted.
};

}  // namespace assay::cli
