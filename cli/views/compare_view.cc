#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "cli/views/format.h"
#include "cli/views/output.h"
#include "cli/views/result_marks.h"
#include "cli/views/result_text.h"
#include "cli/views/results_view.h"
#include "cli/views/table.h"
#include "common/text.h"

namespace assay::cli {
namespace {

PublishedQuery QueryOf(const v1::CaseResult& run) {
  PublishedQuery query;
  // Figures of a whole GPU do not apply to a MIG slice.
  if (run.environment().mig_profile().empty()) {
    query.spec = run.prediction().spec();
    query.gpu_model = run.environment().gpu_model();
    query.gpu_form_factor = run.environment().gpu_form_factor();
  }
  query.gpu_count = run.environment().gpu_count();
  query.benchmark = run.benchmark();
  query.parameters = {run.parameters().begin(), run.parameters().end()};
  if (!run.measurements().empty()) query.metric = run.measurements(0).metric();
  return query;
}

bool IsMeasured(const v1::CaseResult& run) {
  return run.outcome() == v1::CASE_OUTCOME_OK && !run.measurements().empty() &&
         run.measurements(0).median() > 0;
}

std::string GpusText(int count, const std::string& gpu) {
  return (count > 1 ? std::to_string(count) + "x " : "") + gpu;
}

// Returns "m=4096 n=4096".
std::string CaseText(const PublishedFigure& figure) {
  std::string text = figure.case_text;
  std::replace(text.begin(), text.end(), ';', ' ');
  return text;
}

Tone ToneOf(double ratio) {
  constexpr double kNear = 0.95;
  return ratio < kNear ? Tone::kDoubtful : Tone::kPlain;
}

}  // namespace

Comparisons CompareWithPublished(const std::vector<v1::StoredResult>& results) {
  Comparisons comparisons;
  std::map<std::pair<std::string, int>, bool> matched;  // By job and case, any metric.
  for (const v1::StoredResult& result : results) {
    const v1::CaseResult& run = result.case_result();
    if (!IsMeasured(run)) continue;
    const v1::Measurement& measured = run.measurements(0);
    bool& known = matched[{run.job_id(), run.case_index()}];
    for (const PublishedFigure* figure : FindPublished(QueryOf(run))) {
      const auto published = ValueIn(*figure, measured.unit());
      if (!published) continue;
      const bool lower = measured.direction() == v1::DIRECTION_LOWER_IS_BETTER;
      const double ratio = lower ? *published / measured.median() : measured.median() / *published;
      comparisons.rows.push_back({&result, figure, *published, ratio});
      known = true;
    }
  }
  for (const auto& [name, found] : matched) comparisons.unmatched += found ? 0 : 1;
  return comparisons;
}

std::string PublishedMetricsFilter() {
  std::set<std::string> metrics;
  for (const PublishedFigure& figure : PublishedFigures()) metrics.insert(figure.metric);
  std::string filter;
  for (const std::string& metric : metrics) {
    filter += (filter.empty() ? "" : " OR ") + ("metric = \"" + metric + "\"");
  }
  return filter;
}

std::string ComparisonTable(const Comparisons& comparisons, const Style& style) {
  Table table({{"GPU", Align::kLeft, 2},
               {"BENCHMARK"},
               {"PARAMETERS"},
               {"METRIC", Align::kLeft, 3},
               {"RESULT", Align::kRight},
               {"PUBLISHED", Align::kRight},
               {"RATIO", Align::kRight},
               {"FLAGS"},
               {"SOFTWARE", Align::kLeft, 4},
               {"NOTE", Align::kLeft, 1}});
  Marks marks;
  for (const Comparison& row : comparisons.rows) {
    const v1::CaseResult& run = row.result->case_result();
    const v1::Measurement& measured = run.measurements(0);
    table.Add(
        {GpusText(row.figure->gpu_count, row.figure->gpu), run.benchmark(), ParametersText(run),
         measured.metric(), FormatQuantity(measured.median(), measured.unit()).ToString(),
         FormatQuantity(row.published, measured.unit()).ToString(),
         Cell(FormatFixed(row.ratio, 3), ToneOf(row.ratio)),
         Cell(marks.Flags(run), Tone::kDoubtful), row.figure->software, row.figure->Description()});
  }
  return table.Render(style) + marks.Legend(style.width) +
         Wrap("ratio: above 1 the result is better than the published figure", style.width, 2) +
         "\n";
}

std::string ComparisonCsv(const Comparisons& comparisons) {
  std::string csv = CsvRecord({"time", "result_id", "series_id", "gpu", "gpu_count", "benchmark",
                               "parameters", "metric", "unit", "result", "published", "ratio",
                               "published_case", "published_parameters", "software", "note"});
  for (const Comparison& row : comparisons.rows) {
    const v1::CaseResult& run = row.result->case_result();
    const v1::Measurement& measured = run.measurements(0);
    csv += CsvRecord({FormatTimeExact(run.start_time()), row.result->result_id(),
                      row.result->series_id(), row.figure->gpu,
                      std::to_string(row.figure->gpu_count), run.benchmark(), ParametersCsv(run),
                      measured.metric(), measured.unit(), FormatExact(measured.median()),
                      FormatExact(row.published), FormatExact(row.ratio), row.figure->case_text,
                      row.figure->parameters, row.figure->software, row.figure->note});
  }
  return csv;
}

std::string ComparisonJson(const Comparisons& comparisons) {
  std::string json = "[";
  for (const Comparison& row : comparisons.rows) {
    const v1::CaseResult& run = row.result->case_result();
    const v1::Measurement& measured = run.measurements(0);
    nlohmann::ordered_json object = {{"time", FormatTimeExact(run.start_time())},
                                     {"result_id", row.result->result_id()},
                                     {"series_id", row.result->series_id()},
                                     {"gpu", row.figure->gpu},
                                     {"gpu_count", row.figure->gpu_count},
                                     {"benchmark", run.benchmark()},
                                     {"parameters", nlohmann::ordered_json::object()},
                                     {"metric", measured.metric()},
                                     {"unit", measured.unit()},
                                     {"result", measured.median()},
                                     {"published", row.published},
                                     {"ratio", row.ratio},
                                     {"published_case", row.figure->case_text},
                                     {"published_parameters", row.figure->parameters},
                                     {"software", row.figure->software},
                                     {"note", row.figure->note}};
    for (const auto& [name, value] : QueryOf(run).parameters) object["parameters"][name] = value;
    json += (json.size() > 1 ? ",\n" : "\n") + object.dump();
  }
  return json + (json.size() > 1 ? "\n]\n" : "]\n");
}

std::string PublishedText(const std::vector<v1::StoredResult>& results, const Style& style) {
  std::set<std::string> gpus;
  std::set<std::string> benchmarks;
  for (const v1::StoredResult& result : results) {
    gpus.insert(PublishedGpu(QueryOf(result.case_result())));
    benchmarks.insert(result.case_result().benchmark());
  }
  gpus.erase("");
  Table table({{"GPU"},
               {"BENCHMARK"},
               {"CASE"},
               {"METRIC"},
               {"PUBLISHED", Align::kRight},
               {"SOFTWARE", Align::kLeft, 1}});
  bool any = false;
  std::set<std::string> all_gpus;
  std::set<std::string> all_benchmarks;
  for (const PublishedFigure& figure : PublishedFigures()) {
    all_gpus.insert(figure.gpu);
    all_benchmarks.insert(figure.benchmark);
    const bool other_gpu = !gpus.empty() && gpus.count(figure.gpu) == 0;
    if (other_gpu || benchmarks.count(figure.benchmark) == 0) continue;
    any = true;
    table.Add({GpusText(figure.gpu_count, figure.gpu), figure.benchmark, CaseText(figure),
               figure.metric, FormatQuantity(figure.value, figure.unit).ToString(),
               figure.software});
  }
  if (any) return "Published figures of these benchmarks:\n" + table.Render(style);
  return Wrap("Figures were published for " + Join(all_benchmarks) + ", on " + Join(all_gpus) +
                  "; `assay benchmark show NAME` lists them.",
              style.width, 0) +
         "\n";
}

}  // namespace assay::cli
