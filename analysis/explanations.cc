#include "analysis/explanations.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "analysis/statistics.h"

namespace assay::analysis {
namespace {

using RunList = std::vector<RunConditions>;

enum class FieldKind { kText, kClock, kOther };

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

FieldKind KindOf(std::string_view field) {
  const bool clock = Contains(field, "clock") || Contains(field, "mhz");
  return clock ? FieldKind::kClock : FieldKind::kOther;
}

// Returns the smallest relative change of a numeric field that is reported.
double ThresholdOf(std::string_view field) {
  if (KindOf(field) == FieldKind::kClock) return 0.01;
  return Contains(field, "load") ? 0.5 : 0.03;
}

std::vector<double> NumbersOf(const RunList& runs, const std::string& field) {
  std::vector<double> values;
  for (const RunConditions& run : runs) {
    if (const auto found = run.numbers.find(field); found != run.numbers.end()) {
      values.push_back(found->second);
    }
  }
  std::sort(values.begin(), values.end());
  return values;
}

// Returns the distance between the 10th and 90th percentiles, as a measure of the usual variation
// between runs.
double SpreadOf(const std::vector<double>& sorted) {
  const size_t cut = sorted.size() / 10;
  return sorted[sorted.size() - 1 - cut] - sorted[cut];
}

double RelativeChange(double before, double after) {
  if (before == after) return 0;
  if (before == 0) return std::numeric_limits<double>::infinity();
  return std::abs(after - before) / std::abs(before);
}

std::optional<ConditionChange> CompareNumbers(const std::string& field, const RunList& before,
                                              const RunList& after) {
  const std::vector<double> x = NumbersOf(before, field);
  const std::vector<double> y = NumbersOf(after, field);
  if (x.empty() || y.empty()) return std::nullopt;
  const double from = MedianOf(x);
  const double to = MedianOf(y);
  if (std::abs(to - from) <= std::max(SpreadOf(x), SpreadOf(y))) return std::nullopt;
  if (RelativeChange(from, to) <= ThresholdOf(field)) return std::nullopt;
  return ConditionChange{field, from, to, "", ""};
}

// Returns the text that more than half of the runs have in a field, or nullopt if there is none. A
// missing field is treated as an empty text.
std::optional<std::string> TextOf(const RunList& runs, const std::string& field) {
  std::map<std::string, size_t> counts;
  for (const RunConditions& run : runs) {
    const auto found = run.texts.find(field);
    ++counts[found == run.texts.end() ? "" : found->second];
  }
  for (const auto& [text, count] : counts) {
    if (2 * count > runs.size()) return text;
  }
  return std::nullopt;
}

std::optional<ConditionChange> CompareTexts(const std::string& field, const RunList& before,
                                            const RunList& after) {
  auto from = TextOf(before, field);
  auto to = TextOf(after, field);
  if (!from || !to || *from == *to) return std::nullopt;
  return ConditionChange{field, {}, {}, *std::move(from), *std::move(to)};
}

}  // namespace

std::vector<ConditionChange> ExplainStep(const std::vector<RunConditions>& before,
                                         const std::vector<RunConditions>& after) {
  std::set<std::string> numbers;
  std::set<std::string> texts;
  for (const RunList* side : {&before, &after}) {
    for (const RunConditions& run : *side) {
      for (const auto& [field, value] : run.numbers) numbers.insert(field);
      for (const auto& [field, text] : run.texts) texts.insert(field);
    }
  }
  std::vector<std::tuple<FieldKind, double, ConditionChange>> ranked;
  for (const std::string& field : texts) {
    if (auto change = CompareTexts(field, before, after)) {
      ranked.emplace_back(FieldKind::kText, 0, *std::move(change));
    }
  }
  for (const std::string& field : numbers) {
    if (auto change = CompareNumbers(field, before, after)) {
      const double size = RelativeChange(*change->before, *change->after);
      ranked.emplace_back(KindOf(field), -size, *std::move(change));
    }
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& x, const auto& y) {
    return std::pair(std::get<0>(x), std::get<1>(x)) < std::pair(std::get<0>(y), std::get<1>(y));
  });
  std::vector<ConditionChange> changes;
  for (auto& [kind, size, change] : ranked) changes.push_back(std::move(change));
  return changes;
}

}  // namespace assay::analysis
