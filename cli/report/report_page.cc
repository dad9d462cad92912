#include "cli/report/report_page.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>

#include "cli/report/html.h"
#include "cli/views/case_text.h"
#include "cli/views/format.h"
#include "cli/views/result_text.h"
#include "common/numbers.h"
#include "common/text.h"

namespace assay::cli {
namespace {

using google::protobuf::Message;

// Figures of single benchmarks, the largest first.
constexpr size_t kMaxFigures = 12;
// Sizes from which results over a size make a line.
constexpr size_t kMinSizes = 4;

std::string Json(const Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  std::string text;
  static_cast<void>(google::protobuf::util::MessageToJsonString(message, &text, options));
  return text;
}

// Quotes text for JSON inside of a <script>.
std::string JsonText(const std::string& text) {
  std::string json = "\"";
  for (const char c : Sanitize(text)) {
    if (c == '"' || c == '\\') json += '\\';
    json += c == '<' ? std::string("\\u003c") : std::string(1, c);
  }
  return json + "\"";
}

// Returns the source of an inline script or style for the content security policy.
std::string HashSource(const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::array<unsigned char, 2 * EVP_MAX_MD_SIZE> base64{};
  const int length = EVP_EncodeBlock(base64.data(), digest.data(), static_cast<int>(size));
  return "'sha256-" +
         std::string(reinterpret_cast<const char*>(base64.data()), static_cast<size_t>(length)) +
         "'";
}

// Returns NaN if the text is no number.
double NumberOf(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  return text.empty() || *end != '\0' ? std::nan("") : number;
}

// One column of the results.
class Column {
 public:
  Column(const v1::TabulateResultsResponse& table, const std::string& field) {
    for (const v1::ResultColumn& column : table.columns()) {
      if (column.field() == field) column_ = &column;
    }
  }
  std::string Text(int row) const {
    if (column_ == nullptr) return "";
    if (row < column_->indices_size()) {
      const int index = column_->indices(row);
      return index < 0 || index >= column_->texts_size() ? "" : column_->texts(index);
    }
    const double number = Number(row);
    return std::isnan(number) ? "" : FormatSignificant(number, 4);
  }
  double Number(int row) const {
    if (column_ == nullptr || row >= column_->numbers_size()) return std::nan("");
    return column_->numbers(row);
  }

 private:
  const v1::ResultColumn* column_ = nullptr;
};

// A number as FormatQuantity writes it, which sorts by its value.
HtmlCell QuantityCell(double value, const std::string& unit) {
  return HtmlCell(FormatQuantity(value, unit).ToString(), value);
}
HtmlCell CountCell(int64_t count) {
  return HtmlCell(std::to_string(count), static_cast<double>(count));
}
HtmlCell Toned(std::string text, const char* tone) {
  HtmlCell cell(std::move(text));
  cell.tone = tone;
  return cell;
}

std::string Section(const std::string& title, const std::string& text, const std::string& body,
                    const std::string& attributes = "") {
  return "<section class=\"section\"" + attributes + ">\n<header><h2>" + EscapeHtml(title) +
         "</h2></header>\n" + (text.empty() ? "" : "<p>" + EscapeHtml(text) + "</p>\n") + body +
         "</section>\n";
}

std::string VerdictWord(v1::Verdict verdict) {
  if (verdict == v1::VERDICT_PASSED) return "passed";
  return verdict == v1::VERDICT_FAILED ? "failed" : "not decided";
}
HtmlCell VerdictCell(v1::Verdict verdict) {
  return Toned(VerdictWord(verdict), verdict == v1::VERDICT_PASSED   ? "good"
                                     : verdict == v1::VERDICT_FAILED ? "bad"
                                                                     : "");
}

std::string Title(const ReportData& data) {
  return data.campaign ? data.campaign->name() : "Results where " + data.filter;
}

// Lists what the results have in common and how they differ.
std::string Conditions(const ReportData& data) {
  HtmlTable table({"What", "Value", "Results"}, /*plain=*/true);
  for (const auto& [field, name] :
       {std::pair{"gpu.model", "GPU"}, {"driver", "Driver"}, {"node", "Node"}, {"flag", "Flag"}}) {
    const Column column(data.results, field);
    std::map<std::string, int> counts;
    for (int row = 0; row < data.results.row_count(); ++row) ++counts[column.Text(row)];
    counts.erase("");
    constexpr size_t kMost = 12;
    std::vector<std::pair<std::string, int>> sorted(counts.begin(), counts.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    for (size_t i = 0; i < std::min(sorted.size(), kMost); ++i) {
      table.Add({name, sorted[i].first, CountCell(sorted[i].second)});
    }
    if (sorted.size() > kMost) {
      table.Add({name, fmt::format("{} more", sorted.size() - kMost), ""});
    }
  }
  return Section("Conditions", "", table.Html());
}

std::string Head(const ReportData& data) {
  std::string facts;
  if (data.campaign) {
    const v1::Campaign& campaign = *data.campaign;
    const v1::JobCounts& jobs = campaign.jobs();
    facts += fmt::format(
        "Campaign {}: {}. {} of {} cases done; jobs: {} succeeded, {} failed, {} "
        "skipped, {} cancelled, {} open. ",
        campaign.campaign_id(), VerdictWord(campaign.verdict()), campaign.cases_done(),
        campaign.case_count(), jobs.succeeded(), jobs.failed(), jobs.skipped(), jobs.cancelled(),
        jobs.queued() + jobs.running());
    facts += "Submitted " + FormatTime(campaign.create_time());
    if (campaign.has_end_time()) facts += ", ended " + FormatTime(campaign.end_time());
    facts += ". ";
    if (campaign.coverage().absent_node_count() > 0) {
      facts +=
          fmt::format("{} of {} matching nodes were absent. ",
                      campaign.coverage().absent_node_count(), campaign.coverage().node_count());
    }
  }
  facts += fmt::format("{} results", data.results.row_count());
  if (data.results.remaining_count() > 0) {
    facts += fmt::format("; {} older ones are left out", data.results.remaining_count());
  }
  if (!data.filter.empty() && data.campaign) facts += ", where " + data.filter;
  std::string badge;
  if (data.campaign) {
    const HtmlCell verdict = VerdictCell(data.campaign->verdict());
    badge = " <span class=\"badge " + verdict.tone + "\">" + verdict.text + "</span>";
  }
  return "<header class=\"page-head\"><h1>" + EscapeHtml(Title(data)) + "</h1>" + badge +
         "</header>\n<p>" + EscapeHtml(facts + ".") + "</p>\n";
}

std::string Rules(const ReportData& data) {
  if (!data.campaign || data.campaign->rules().empty()) return "";
  HtmlTable table({"Rule", "Verdict", "Why", "Results"}, /*plain=*/true);
  for (const v1::RuleVerdict& rule : data.campaign->rules()) {
    table.Add({rule.rule(), VerdictCell(rule.verdict()), rule.explanation(),
               CountCell(rule.results_checked())});
  }
  return Section("Accept rules", "", table.Html());
}

std::string Failures(const ReportData& data) {
  if (!data.progress || data.progress->failures().empty()) return "";
  HtmlTable table({"Jobs", "Benchmark", "Nodes", "Why"}, /*plain=*/true);
  for (const v1::FailureSummary& failure : data.progress->failures()) {
    table.Add({CountCell(failure.job_count()), failure.benchmark(),
               Join({failure.node_names().begin(), failure.node_names().end()}),
               failure.failure().message()});
  }
  return Section("Failures", "", table.Html());
}

std::string ComparisonWord(v1::ComparisonVerdict verdict) {
  switch (verdict) {
    case v1::COMPARISON_VERDICT_EQUIVALENT:
      return "equivalent";
    case v1::COMPARISON_VERDICT_REGRESSED:
      return "regressed";
    case v1::COMPARISON_VERDICT_IMPROVED:
      return "improved";
    default:
      return "inconclusive";
  }
}
const char* ComparisonTone(v1::ComparisonVerdict verdict) {
  if (verdict == v1::COMPARISON_VERDICT_REGRESSED) return "bad";
  return verdict == v1::COMPARISON_VERDICT_IMPROVED ? "good" : "";
}

std::string Comparison(const ReportData& data) {
  if (!data.comparison || data.comparison->cases().empty()) return "";
  const v1::CompareResultsResponse& compared = *data.comparison;
  std::vector<v1::CaseIdentity> cases;
  for (const v1::CaseComparison& one : compared.cases()) cases.push_back(one.case_());
  const CaseNames names(cases);
  HtmlTable table({"Case", "Hardware", "Verdict", "Change", "99% interval", compared.label_a(),
                   compared.label_b(), "Places", "Runs"});
  for (const v1::CaseComparison& one : compared.cases()) {
    const std::string& unit = one.case_().unit();
    table.Add({names.Full(one.case_()), HardwareText(one.case_().hardware()),
               Toned(ComparisonWord(one.verdict()), ComparisonTone(one.verdict())),
               HtmlCell(ChangeText(one.ratio()), one.ratio()),
               one.has_ratio_low() && one.has_ratio_high()
                   ? ChangeText(one.ratio_low()) + " to " + ChangeText(one.ratio_high())
                   : "not known",
               QuantityCell(one.median_a(), unit), QuantityCell(one.median_b(), unit),
               CountCell(one.common_places() > 0 ? one.common_places()
                                                 : std::min(one.places_a(), one.places_b())),
               CountCell(one.runs_a() + one.runs_b())});
  }
  return Section(compared.label_a() + " against " + compared.label_b(),
                 "Change of performance from the first to the second, whatever the metric.",
                 table.Html(), " data-figure=\"forest\"");
}

std::string EndName(const v1::GetPairsResponse& pairs, int end) {
  return end >= 0 && end < pairs.ends_size() ? pairs.ends(end) : "";
}

std::string CellWord(v1::PairCellVerdict verdict) {
  switch (verdict) {
    case v1::PAIR_CELL_VERDICT_OK:
      return "ok";
    case v1::PAIR_CELL_VERDICT_BAD_END:
      return "bad end";
    case v1::PAIR_CELL_VERDICT_BAD_LINK:
      return "bad link";
    case v1::PAIR_CELL_VERDICT_UNCERTAIN:
      return "uncertain";
    case v1::PAIR_CELL_VERDICT_FAILED:
      return "failed";
    case v1::PAIR_CELL_VERDICT_MISSING:
      return "not measured";
    default:
      return "not judged";
  }
}

std::string Pairs(const ReportData& data) {
  if (!data.pairs || data.pairs->matrices().empty()) return "";
  const v1::GetPairsResponse& pairs = *data.pairs;
  std::string html;
  if (!pairs.findings().empty()) {
    html = "<ul>\n";
    for (const v1::PairFinding& finding : pairs.findings()) {
      std::vector<std::string> ends;
      for (const int end : finding.ends()) ends.push_back(EndName(pairs, end));
      html += "<li><strong>" + EscapeHtml(Join(ends, " to ")) + "</strong> " +
              EscapeHtml(finding.text() + (finding.certain() ? "" : " (uncertain)") +
                         (finding.advice().empty() ? "" : ". " + finding.advice())) +
              "</li>\n";
    }
    html = Section("Links", "", html + "</ul>\n");
  }
  const int maps = std::min(pairs.matrices_size(), static_cast<int>(kMaxFigures));
  for (int i = 0; i < maps; ++i) {
    const v1::PairMatrix& matrix = pairs.matrices(i);
    HtmlTable table({matrix.directed() ? "From" : "A", matrix.directed() ? "To" : "B", "Value",
                     "Expected", "Verdict"});
    for (const v1::PairCell& cell : matrix.cells()) {
      const bool bad = cell.verdict() == v1::PAIR_CELL_VERDICT_BAD_END ||
                       cell.verdict() == v1::PAIR_CELL_VERDICT_BAD_LINK ||
                       cell.verdict() == v1::PAIR_CELL_VERDICT_FAILED;
      table.Add(
          {EndName(pairs, cell.from()), EndName(pairs, cell.to()),
           cell.has_value() ? QuantityCell(cell.value(), matrix.unit()) : HtmlCell("not measured"),
           cell.has_expected() ? QuantityCell(cell.expected(), matrix.unit()) : HtmlCell(""),
           Toned(CellWord(cell.verdict()), bad ? "bad" : "")});
    }
    html += Section(matrix.benchmark() + " " + matrix.parameters() + ": " + matrix.metric() +
                        (matrix.between_gpus() ? " between GPUs" : " between nodes"),
                    "", table.Html(), fmt::format(" data-figure=\"heatmap\" data-index=\"{}\"", i));
  }
  return html;
}

std::string Rooflines(const ReportData& data) {
  std::string html;
  for (int i = 0; i < data.roofline.rooflines_size(); ++i) {
    const v1::Roofline& roofline = data.roofline.rooflines(i);
    HtmlTable roofs({"Roof", "From", "Value"}, /*plain=*/true);
    for (const v1::Roof& roof : roofline.roofs()) {
      roofs.Add({roof.name(), roof.basis(),
                 QuantityCell(roof.value(), roof.is_bandwidth() ? "B/s" : "FLOP/s")});
    }
    HtmlTable points(
        {"Benchmark", "Parameters", "FLOP/byte", "Reached", "Of the sheet", "Bound by", "Node"});
    for (const v1::RooflinePoint& point : roofline.points()) {
      points.Add(
          {point.benchmark(), ParametersText(point.parameters()),
           HtmlCell(FormatSignificant(point.arithmetic_intensity(), 4),
                    point.arithmetic_intensity()),
           QuantityCell(point.flops_per_second(), "FLOP/s"),
           point.has_efficiency_spec()
               ? HtmlCell(FormatPercent(point.efficiency_spec(), 1) + "%", point.efficiency_spec())
               : HtmlCell("not known"),
           point.regime(), point.node_name()});
    }
    const std::string gpu =
        roofline.gpu_model().empty()
            ? "CPU"
            : roofline.gpu_model() +
                  (roofline.gpu_form_factor().empty() ? "" : " " + roofline.gpu_form_factor());
    html += Section("Roofline of " + gpu, "", points.Html() + (roofs.empty() ? "" : roofs.Html()),
                    fmt::format(" data-figure=\"roofline\" data-index=\"{}\"", i));
  }
  return html;
}

std::string Histories(const ReportData& data) {
  if (!data.history) return "";
  std::vector<v1::CaseIdentity> cases;
  for (const v1::PlaceHistory& place : data.history->places()) cases.push_back(place.case_());
  const CaseNames names(cases);
  // The cases in the order of their first place, because the script numbers them in this order.
  std::vector<std::string> order;
  std::map<std::string, std::vector<const v1::PlaceHistory*>> by_case;
  for (const v1::PlaceHistory& place : data.history->places()) {
    const std::string key = place.case_().SerializeAsString();
    if (by_case[key].empty()) order.push_back(key);
    by_case[key].push_back(&place);
  }
  std::string html;
  for (size_t i = 0; i < order.size(); ++i) {
    HtmlTable table({"Place", "Runs", "First", "Last", "Steps"});
    const v1::CaseIdentity& identity = by_case[order[i]].front()->case_();
    for (const v1::PlaceHistory* place : by_case[order[i]]) {
      std::vector<std::string> steps;
      for (const v1::HistoryStep& step : place->steps()) {
        steps.push_back(ChangeText(step.ratio()) + " on " + FormatTime(step.time()) +
                        (step.driver_before() == step.driver_after()
                             ? ""
                             : ", driver " + ArrowText(step.driver_before(), step.driver_after())));
      }
      if (place->points().empty()) continue;
      table.Add({PlaceText(place->place()), CountCell(place->points_size()),
                 QuantityCell(place->points(0).median(), identity.unit()),
                 QuantityCell(place->points(place->points_size() - 1).median(), identity.unit()),
                 steps.empty() ? "none" : Join(steps, "; ")});
    }
    html += Section("History of " + names.Full(identity), "", table.Html(),
                    fmt::format(" data-figure=\"history\" data-index=\"{}\"", i));
  }
  return html;
}

std::string Cases(const ReportData& data) {
  HtmlTable table({"Benchmark", "Parameters", "Metric", "GPU", "Median", "Lowest", "Highest",
                   "Results", "Failed", "GPUs", "Nodes"});
  for (const v1::ResultGroup& group : data.groups.groups()) {
    const v1::CaseResult& run = group.best().case_result();
    const bool measured = !run.measurements().empty();
    const std::string unit = measured ? run.measurements(0).unit() : "";
    const auto value = [&](bool has, double number) {
      return has ? QuantityCell(number, unit) : HtmlCell("not measured");
    };
    table.Add({run.benchmark(), ParametersText(run), measured ? run.measurements(0).metric() : "",
               group.values().empty() ? "" : group.values(0),
               value(group.has_median(), group.median()), value(group.has_low(), group.low()),
               value(group.has_high(), group.high()), CountCell(group.result_count()),
               CountCell(group.failed_count()), CountCell(group.gpu_count()),
               CountCell(group.node_count())});
  }
  if (table.empty()) return "";
  return Section(
      "Cases",
      data.groups.truncated() ? "There are more cases; narrow the filter to see them." : "",
      table.Html());
}

// The values of one benchmark and metric.
struct Family {
  std::string benchmark;
  std::string metric;
  std::string unit;
  std::vector<int> rows;
};

std::vector<Family> FamiliesOf(const v1::TabulateResultsResponse& results) {
  const Column benchmark(results, "benchmark");
  const Column metric(results, "metric");
  const Column unit(results, "unit");
  const Column median(results, "median");
  std::map<std::tuple<std::string, std::string>, Family> by_name;
  for (int row = 0; row < results.row_count(); ++row) {
    if (std::isnan(median.Number(row))) continue;
    Family& family = by_name[{benchmark.Text(row), metric.Text(row)}];
    family.benchmark = benchmark.Text(row);
    family.metric = metric.Text(row);
    family.unit = unit.Text(row);
    family.rows.push_back(row);
  }
  std::vector<Family> families;
  for (auto& [name, family] : by_name) families.push_back(std::move(family));
  std::stable_sort(families.begin(), families.end(),
                   [](const Family& a, const Family& b) { return a.rows.size() > b.rows.size(); });
  if (families.size() > kMaxFigures) families.resize(kMaxFigures);
  return families;
}

// Summarizes values by a group's name.
HtmlTable Summary(const std::string& head, const std::string& unit,
                  const std::map<std::string, std::vector<double>>& groups) {
  HtmlTable table({head, "Results", "Median", "Lowest", "Highest"});
  for (const auto& [name, given] : groups) {
    std::vector<double> values = given;
    std::sort(values.begin(), values.end());
    const size_t middle = values.size() / 2;
    const double median =
        values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
    table.Add({name, CountCell(static_cast<int64_t>(values.size())), QuantityCell(median, unit),
               QuantityCell(values.front(), unit), QuantityCell(values.back(), unit)});
  }
  return table;
}

std::string Distributions(const ReportData& data) {
  const v1::TabulateResultsResponse& results = data.results;
  const Column median(results, "median");
  std::vector<std::string> parameters;
  for (const v1::ResultColumn& column : results.columns()) {
    if (column.field().rfind("parameters.", 0) == 0) parameters.push_back(column.field());
  }
  std::string html;
  for (const Family& family : FamiliesOf(results)) {
    std::vector<std::string> varying;
    for (const std::string& field : parameters) {
      const Column column(results, field);
      std::set<std::string> values;
      for (const int row : family.rows) values.insert(column.Text(row));
      if (values.size() > 1) varying.push_back(field);
    }
    const std::string attributes =
        fmt::format(" data-benchmark=\"{}\" data-metric=\"{}\"", EscapeHtml(family.benchmark),
                    EscapeHtml(family.metric));
    const std::string title = family.benchmark + ": " + family.metric;
    const Column bytes(results, "parameters.bytes");
    std::set<double> sizes;
    for (const int row : family.rows) {
      if (const double size = NumberOf(bytes.Text(row)); size > 0) sizes.insert(size);
    }
    const auto name_of = [&](int row, const std::vector<std::string>& fields) {
      std::vector<std::string> parts;
      for (const std::string& field : fields) {
        parts.push_back(Column(results, field).Text(row));
      }
      return Join(parts, " ");
    };
    std::map<std::string, std::vector<double>> groups;
    if (sizes.size() >= kMinSizes) {
      HtmlTable table({"Bytes", "GPU", "Results", "Median", "Lowest", "Highest"});
      std::map<std::pair<double, std::string>, std::vector<double>> cells;
      const Column gpu(results, "gpu.model");
      for (const int row : family.rows) {
        const double size = NumberOf(bytes.Text(row));
        if (size > 0) cells[{size, gpu.Text(row)}].push_back(median.Number(row));
      }
      for (auto& [key, values] : cells) {
        std::sort(values.begin(), values.end());
        table.Add({QuantityCell(key.first, "B"), key.second,
                   CountCell(static_cast<int64_t>(values.size())),
                   QuantityCell(values[values.size() / 2], family.unit),
                   QuantityCell(values.front(), family.unit),
                   QuantityCell(values.back(), family.unit)});
      }
      html += Section(title + " against size", "", table.Html(),
                      " data-figure=\"bandwidth\" data-by=\"gpu.model\"" + attributes);
      continue;
    }
    const std::vector<std::string> by =
        varying.empty() ? std::vector<std::string>{"node"} : varying;
    for (const int row : family.rows) groups[name_of(row, by)].push_back(median.Number(row));
    std::vector<std::string> heads;
    for (const std::string& field : by) {
      heads.push_back(field.rfind("parameters.", 0) == 0 ? field.substr(11) : field);
    }
    html += Section(
        title, "", Summary(Join(heads, " "), family.unit, groups).Html(),
        " data-figure=\"strip\" data-by=\"" + EscapeHtml(Join(by, ",")) + "\"" + attributes);
  }
  return html;
}

// The data for the script.
std::string DataJson(const ReportData& data) {
  std::string json = "{\"filter\":" + JsonText(data.filter) + ",\"time\":" + JsonText(data.time) +
                     ",\"version\":" + JsonText(data.version);
  const auto add = [&](const char* name, const Message* message) {
    if (message != nullptr) json += fmt::format(",\"{}\":{}", name, Json(*message));
  };
  if (data.campaign) {
    v1::Campaign campaign = *data.campaign;
    campaign.clear_spec();
    add("campaign", &campaign);
  }
  add("results", &data.results);
  add("roofline", &data.roofline);
  if (data.pairs) add("pairs", &*data.pairs);
  if (data.comparison) add("comparison", &*data.comparison);
  if (data.history) add("history", &*data.history);
  v1::GroupResultsResponse groups = data.groups;
  for (v1::ResultGroup& group : *groups.mutable_groups()) {
    // Only what identifies the case.
    v1::CaseResult& run = *group.mutable_best()->mutable_case_result();
    v1::CaseResult kept;
    kept.set_benchmark(run.benchmark());
    *kept.mutable_parameters() = run.parameters();
    *kept.mutable_measurements() = run.measurements();
    run = std::move(kept);
  }
  add("groups", &groups);
  return json + "}";
}

}  // namespace

std::vector<std::string> ReportFields() {
  return {"result_id",
          "benchmark",
          "metric",
          "unit",
          "node",
          "gpu.uuid",
          "gpu.model",
          "driver",
          "end_time",
          "median",
          "ci_low",
          "ci_high",
          "flag",
          "model_latency_seconds",
          "model_bandwidth",
          "model_error",
          "model_sizes"};
}

std::vector<std::string> VaryingParameters(const v1::GroupResultsResponse& groups, size_t most) {
  std::vector<v1::StoredResult> cases;
  for (const v1::ResultGroup& group : groups.groups()) cases.push_back(group.best());
  std::set<std::string> names;
  for (const auto& [benchmark, varying] : FindVarying(cases)) {
    names.insert(varying.begin(), varying.end());
  }
  std::vector<std::string> list(names.begin(), names.end());
  // Put sizes first, because bandwidths are drawn over them.
  std::stable_partition(list.begin(), list.end(),
                        [](const std::string& name) { return name == "bytes"; });
  if (list.size() > most) list.resize(most);
  return list;
}

std::string ReportPage(const ReportData& data, const ReportAssets& assets) {
  const std::string policy = fmt::format(
      "default-src 'none'; script-src {}; style-src {} {}; img-src data:; base-uri 'none'; "
      "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
      assets.script.empty() ? "'none'" : HashSource(assets.script), HashSource(assets.style),
      assets.style_sources);
  std::string html =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"" +
      policy +
      "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n<title>" +
      EscapeHtml(Title(data)) + " - Assay</title>\n<style>" + assets.style +
      "</style>\n</head>\n<body class=\"report\">\n<main>\n";
  html += Head(data) + Rules(data) + Failures(data) + Comparison(data) + Cases(data) +
          Rooflines(data) + Histories(data) + Distributions(data) + Pairs(data) + Conditions(data);
  html += "<footer>Made by assay " + EscapeHtml(data.version) + ", " + EscapeHtml(data.time) +
          ".</footer>\n</main>\n";
  if (!assets.script.empty()) {
    html += "<script type=\"application/json\" id=\"assay-report\">" + DataJson(data) +
            "</script>\n<script>" + assets.script + "</script>\n";
  }
  return html + "</body>\n</html>\n";
}

}  // namespace assay::cli
