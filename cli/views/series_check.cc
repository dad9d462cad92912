#include "cli/views/series_check.h"

#include <algorithm>
#include <cmath>

#include "cli/views/format.h"
#include "cli/views/result_marks.h"
#include "wire/interval.h"

namespace assay::cli {
namespace {

// Returns the measurement to compare; nullptr if there is none.
const v1::Measurement* ComparableOf(const v1::StoredResult& result) {
  const v1::CaseResult& run = result.case_result();
  if (run.outcome() != v1::CASE_OUTCOME_OK || run.measurements().empty()) return nullptr;
  const v1::Measurement& measured = run.measurements(0);
  const bool comparable =
      !result.series_id().empty() && !IsCount(measured.unit()) && std::isfinite(measured.median());
  return comparable ? &measured : nullptr;
}

// Returns the median of sorted `values` without the one at `index`.
double MedianWithout(const std::vector<double>& values, size_t index) {
  const auto at = [&](size_t i) { return values[i < index ? i : i + 1]; };
  const size_t count = values.size() - 1;
  return (at((count - 1) / 2) + at(count / 2)) / 2;
}

}  // namespace

SeriesMedians::SeriesMedians(const std::vector<v1::StoredResult>& results) {
  for (const v1::StoredResult& result : results) {
    const v1::Measurement* const measured = ComparableOf(result);
    if (measured == nullptr) continue;
    medians_[{result.series_id(), measured->metric()}].push_back(measured->median());
  }
  for (auto& [key, medians] : medians_) std::sort(medians.begin(), medians.end());
}

bool SeriesMedians::IsOff(const v1::StoredResult& result) const {
  const v1::Measurement* const measured = ComparableOf(result);
  if (measured == nullptr) return false;
  const std::vector<double>& all = medians_.at({result.series_id(), measured->metric()});
  if (all.size() < 2) return false;
  const auto own = std::lower_bound(all.begin(), all.end(), measured->median());
  const double others = MedianWithout(all, static_cast<size_t>(own - all.begin()));
  const double limit = std::max(kNoisy, schema::Uncertainty(*measured).value_or(0));
  return std::abs(measured->median() - others) > limit * std::abs(others);
}

}  // namespace assay::cli
