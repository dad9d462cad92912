#include "cli/views/group_view.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

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

// The cells that name the case of a group.
struct CaseCells {
  std::string benchmark;
  std::string parameters;
  std::string metric;
};

// Names the cases of groups. Mentions caches and fills only if they differ.
class CaseNames {
 public:
  explicit CaseNames(const std::vector<v1::ResultGroup>& groups) {
    std::vector<v1::StoredResult> results;
    for (const v1::ResultGroup& group : groups) {
      results.push_back(group.best());
      caches_.insert(MeasuredBy(group).method().cache());
      fills_.insert(MeasuredBy(group).method().fill());
    }
    varying_ = FindVarying(results);
  }

  CaseCells Of(const v1::ResultGroup& group) const {
    const v1::CaseResult& run = group.best().case_result();
    const auto varies = varying_.find(run.benchmark());
    std::string parameters =
        ParametersText(run, varies == varying_.end() ? std::set<std::string>() : varies->second);
    const auto add = [&](const std::string& name, const std::string& value, size_t values) {
      if (values > 1 && !value.empty()) {
        parameters += (parameters.empty() ? "" : " ") + name + "=" + value;
      }
    };
    add("cache", MeasuredBy(group).method().cache(), caches_.size());
    add("fill", MeasuredBy(group).method().fill(), fills_.size());
    return {Sanitize(run.benchmark()), Sanitize(parameters), Sanitize(MeasuredBy(group).metric())};
  }

 private:
  std::map<std::string, std::set<std::string>> varying_;
  std::set<std::string> caches_;
  std::set<std::string> fills_;
};

// If all groups belong to the same case, returns a line that names the case, for example "gemm
// m=n=k=4096 bf16: tflops". Otherwise returns an empty string.
std::string OnlyCase(const std::vector<v1::ResultGroup>& groups, const CaseNames& names) {
  for (const v1::ResultGroup& group : groups) {
    if (!SameCase(group, groups[0])) return "";
  }
  const CaseCells cells = names.Of(groups[0]);
  std::string line = cells.benchmark;
  if (!cells.parameters.empty()) line += " " + cells.parameters;
  return cells.metric.empty() ? line : line + ": " + cells.metric;
}

std::string CountText(int count) { return count == 0 ? "" : std::to_string(count); }

// Returns the hardware that a result depends on: GPUs, or the CPU.
std::string HardwareText(const v1::Environment& environment) {
  const std::string gpu = GpuText(environment);
  return Sanitize(gpu.empty() ? environment.cpu_model() : gpu);
}

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
  const CaseNames names(grouped.groups);
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
      const CaseCells cells = names.Of(group);
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
  const CaseNames names(grouped.groups);
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
    const CaseCells cells = only.empty() ? names.Of(group) : CaseCells();
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
