#include "cli/views/group_view.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/views/case_text.h"
#include "cli/views/format.h"
#include "cli/views/output.h"
#include "cli/views/result_columns.h"
#include "cli/views/result_text.h"
#include "common/text.h"
#include "wire/result_fields.h"

namespace assay::cli {
namespace {

using Json = nlohmann::ordered_json;

const v1::Measurement& MeasuredBy(const v1::ResultGroup& group) {
  const auto& measurements = group.best().case_result().measurements();
  return measurements.empty() ? v1::Measurement::default_instance() : measurements[0];
}

bool SameCase(const v1::ResultGroup& a, const v1::ResultGroup& b) {
  const v1::CaseResult& left = a.best().case_result();
  const v1::CaseResult& right = b.best().case_result();
  const v1::Measurement& metric = MeasuredBy(a);
  const v1::Measurement& other = MeasuredBy(b);
  return left.benchmark() == right.benchmark() && ParametersCsv(left) == ParametersCsv(right) &&
         metric.metric() == other.metric() && metric.unit() == other.unit() &&
         metric.method().cache() == other.method().cache() &&
         metric.method().fill() == other.method().fill();
}

// Returns true if `a` is a better median than `b`. Every median is better than none.
bool IsBetter(const v1::ResultGroup& a, const v1::ResultGroup& b) {
  if (!a.has_median() || !b.has_median()) return a.has_median() && !b.has_median();
  const bool lower = MeasuredBy(a).direction() == v1::DIRECTION_LOWER_IS_BETTER;
  return lower ? a.median() < b.median() : a.median() > b.median();
}

// Returns "310.2-315.0", or with units if these differ: "900 us-1.2 ms".
std::string RangeText(const v1::ResultGroup& group) {
  if (!group.has_median()) return "";
  const std::string& unit = MeasuredBy(group).unit();
  const Quantity low = FormatQuantity(group.low(), unit);
  const Quantity high = FormatQuantity(group.high(), unit);
  if (low.unit == high.unit && low.unit == FormatQuantity(group.median(), unit).unit) {
    return low.number + "-" + high.number;
  }
  return low.ToString() + "-" + high.ToString();
}

// Returns "-9.4%" for a group whose median is that much worse than `best`.
Cell AgainstBest(const v1::ResultGroup& group, const v1::ResultGroup& best) {
  if (&group == &best) return group.has_median() ? Cell("best", Tone::kGood) : Cell("");
  if (!group.has_median() || best.median() == 0) return "";
  const double change = group.median() / best.median() - 1;
  return (change >= 0 ? "+" : "") + FormatFixed(100 * change, 1) + "%";
}

// Returns what identifies the case of a group. Has no hardware, which is not part of a case here.
v1::CaseIdentity CaseOf(const v1::ResultGroup& group) {
  v1::CaseIdentity identity;
  identity.set_benchmark(group.best().case_result().benchmark());
  *identity.mutable_parameters() = group.best().case_result().parameters();
  identity.set_metric(MeasuredBy(group).metric());
  identity.set_cache(MeasuredBy(group).method().cache());
  identity.set_fill(MeasuredBy(group).method().fill());
  return identity;
}

CaseNames NamesOf(const std::vector<v1::ResultGroup>& groups) {
  std::vector<v1::CaseIdentity> cases;
  for (const v1::ResultGroup& group : groups) cases.push_back(CaseOf(group));
  return CaseNames(cases);
}

// Returns a line that names the case of all groups, for example "gemm m=n=k=4096 bf16: tflops", or
// an empty string if the groups have different cases.
std::string OnlyCase(const std::vector<v1::ResultGroup>& groups, const CaseNames& names) {
  for (const v1::ResultGroup& group : groups) {
    if (!SameCase(group, groups[0])) return "";
  }
  return names.Full(CaseOf(groups[0]));
}

std::string CountText(int count) { return count == 0 ? "" : std::to_string(count); }

}  // namespace

void SortBestFirst(std::vector<v1::ResultGroup>& groups) {
  for (auto begin = groups.begin(); begin != groups.end();) {
    const auto end = std::find_if(
        begin, groups.end(), [&](const v1::ResultGroup& one) { return !SameCase(one, *begin); });
    std::stable_sort(begin, end, IsBetter);
    begin = end;
  }
}

std::string GroupsTable(const GroupedResults& grouped, const Style& style) {
  if (grouped.groups.empty()) return "";
  const CaseNames names = NamesOf(grouped.groups);
  const std::string only = OnlyCase(grouped.groups, names);
  std::vector<Column> columns = {{"BENCHMARK"}, {"PARAMETERS"}, {"METRIC", Align::kLeft, 4}};
  for (const std::string& field : grouped.fields) columns.push_back({TableHeader(field)});
  columns.insert(columns.end(), {{"MEDIAN", Align::kRight},
                                 {"UNIT"},
                                 {"VS BEST", Align::kRight, 1},
                                 {"LOW-HIGH", Align::kLeft, 2},
                                 {"N", Align::kRight},
                                 {"FAILED", Align::kRight},
                                 {"NODES", Align::kRight, 3},
                                 {"GPUS", Align::kRight, 3}});
  Table table(std::move(columns));
  const v1::ResultGroup* best = nullptr;
  for (const v1::ResultGroup& group : grouped.groups) {
    if (best == nullptr || !SameCase(group, *best)) best = &group;
    std::vector<Cell> row(3);
    if (only.empty()) {
      const CaseCells cells = names.Cells(CaseOf(group));
      row = {cells.benchmark, cells.parameters, cells.metric};
    }
    for (const std::string& value : group.values()) row.emplace_back(Sanitize(value));
    const Quantity median = FormatQuantity(group.median(), MeasuredBy(group).unit());
    row.insert(row.end(), {group.has_median() ? Cell(median.number) : Cell("none", Tone::kDim),
                           group.has_median() ? median.unit : "", AgainstBest(group, *best),
                           RangeText(group), std::to_string(group.result_count()),
                           Cell(CountText(group.failed_count()), Tone::kBad),
                           CountText(group.node_count()), CountText(group.gpu_count())});
    table.Add(std::move(row));
  }
  return (only.empty() ? "" : Wrap(only, style.width, 2) + "\n") + table.Render(style);
}

std::string BestTable(const GroupedResults& grouped, const Style& style) {
  if (grouped.groups.empty()) return "";
  const CaseNames names = NamesOf(grouped.groups);
  const std::string only = OnlyCase(grouped.groups, names);
  Table table({{"BENCHMARK"},
               {"PARAMETERS"},
               {"METRIC", Align::kLeft, 2},
               {"HARDWARE"},
               {"BEST", Align::kRight},
               {"UNIT"},
               {"NODE"},
               {"DRIVER", Align::kLeft, 3},
               {"TIME", Align::kLeft, 4},
               {"MEDIAN OF ALL", Align::kRight, 1},
               {"N", Align::kRight, 1}});
  for (const v1::ResultGroup& group : grouped.groups) {
    if (!group.has_median()) continue;
    const v1::CaseResult& run = group.best().case_result();
    const Quantity value = FormatQuantity(MeasuredBy(group).median(), MeasuredBy(group).unit());
    const Quantity median = FormatQuantity(group.median(), MeasuredBy(group).unit());
    const CaseCells cells = only.empty() ? names.Cells(CaseOf(group)) : CaseCells();
    table.Add({cells.benchmark, cells.parameters, cells.metric, HardwareText(run.environment()),
               value.number, value.unit, Sanitize(NodesText(run)),
               Sanitize(run.environment().driver_version()), FormatTime(run.end_time()),
               median.unit == value.unit ? median.number : median.ToString(),
               std::to_string(group.result_count() - group.failed_count())});
  }
  if (table.empty()) return "";
  return (only.empty() ? "" : Wrap(only, style.width, 2) + "\n") + table.Render(style);
}

std::string GroupsCsv(const GroupedResults& grouped) {
  std::vector<std::string> names = {"benchmark", "parameters", "metric", "unit", "cache", "fill"};
  names.insert(names.end(), grouped.fields.begin(), grouped.fields.end());
  names.insert(names.end(),
               {"group_median", "group_low", "group_high", "group_results", "group_failed",
                "group_nodes", "group_gpus", "best_median", "best_node", "best_result_id"});
  std::string csv = CsvRecord(names);
  for (const v1::ResultGroup& group : grouped.groups) {
    const v1::CaseResult& run = group.best().case_result();
    const v1::Measurement& measured = MeasuredBy(group);
    std::vector<std::string> texts = {run.benchmark(),           ParametersCsv(run),
                                      measured.metric(),         measured.unit(),
                                      measured.method().cache(), measured.method().fill()};
    texts.insert(texts.end(), group.values().begin(), group.values().end());
    const auto number = [&](double value) { return group.has_median() ? FormatExact(value) : ""; };
    texts.insert(texts.end(),
                 {number(group.median()), number(group.low()), number(group.high()),
                  std::to_string(group.result_count()), std::to_string(group.failed_count()),
                  std::to_string(group.node_count()), std::to_string(group.gpu_count()),
                  number(measured.median()), NodesText(run), group.best().result_id()});
    csv += CsvRecord(texts);
  }
  return csv;
}

std::string GroupsJson(const GroupedResults& grouped) {
  JsonArray array;
  std::string text;
  for (const v1::ResultGroup& group : grouped.groups) {
    Json values = Json::object();
    for (size_t i = 0; i < grouped.fields.size(); ++i) {
      const int index = static_cast<int>(i);
      values[grouped.fields[i]] = index < group.values_size() ? group.values(index) : "";
    }
    Json json = {{"group", std::move(values)}};
    if (group.has_median()) {
      json["median"] = group.median();
      json["low"] = group.low();
      json["high"] = group.high();
    }
    json["results"] = group.result_count();
    json["failed"] = group.failed_count();
    json["nodes"] = group.node_count();
    json["gpus"] = group.gpu_count();
    json["best"] = Json::parse(schema::ResultJson(group.best()));
    text += array.AddText(json.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  return text + array.Finish();
}

}  // namespace assay::cli
