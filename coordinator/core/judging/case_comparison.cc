#include "coordinator/core/judging/case_comparison.h"

#include <chrono>
#include <map>
#include <string>
#include <utility>

namespace assay::coordinator {
namespace {

double SecondsOf(WallTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

std::vector<analysis::TimedValue> TimedValues(const History& history) {
  std::vector<analysis::TimedValue> values;
  for (size_t i = 0; i < history.used.size(); ++i) {
    values.push_back({history.values[i], SecondsOf(history.used[i]->end_time)});
  }
  return values;
}

}  // namespace

analysis::Comparison CompareCase(const CaseSides& sides, const analysis::ComparisonRule& rule) {
  std::map<std::string, analysis::PlaceRuns> places;
  const auto add = [](const History& history, std::vector<analysis::TimedValue>& values) {
    const std::vector<analysis::TimedValue> more = TimedValues(history);
    values.insert(values.end(), more.begin(), more.end());
  };
  for (const History* history : sides.a) add(*history, places[history->place_key].a);
  for (const History* history : sides.b) add(*history, places[history->place_key].b);
  std::vector<analysis::PlaceRuns> list;
  for (auto& [key, runs] : places) list.push_back(std::move(runs));
  return analysis::Compare(list, rule);
}

v1::CaseComparison ComparisonMessage(const CaseSides& sides, const analysis::Comparison& compared) {
  v1::CaseComparison message;
  *message.mutable_case_() = sides.b.front()->identity;
  if (sides.a.front()->identity.lineage_id() != message.case_().lineage_id()) {
    message.mutable_case_()->clear_lineage_id();
  }
  message.set_verdict(static_cast<v1::ComparisonVerdict>(static_cast<int>(compared.verdict) + 1));
  message.set_ratio(compared.ratio);
  if (compared.has_interval) {
    message.set_ratio_low(compared.low);
    message.set_ratio_high(compared.high);
  }
  message.set_median_a(MedianOverPlaces(sides.a));
  message.set_median_b(MedianOverPlaces(sides.b));
  message.set_places_a(static_cast<int>(compared.places_a));
  message.set_places_b(static_cast<int>(compared.places_b));
  message.set_common_places(static_cast<int>(compared.common_places));
  message.set_runs_a(static_cast<int>(compared.runs_a));
  message.set_runs_b(static_cast<int>(compared.runs_b));
  message.set_these_places_only(compared.these_places_only);
  message.set_missing(static_cast<v1::MissingEvidence>(compared.missing));
  message.set_missing_count(static_cast<int>(compared.missing_count));
  return message;
}

}  // namespace assay::coordinator
