#include "cli/views/bandwidth_plot.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/statistics.h"
#include "cli/views/format.h"
#include "cli/views/output.h"
#include "cli/views/table_reader.h"
#include "cli/views/xy_plot.h"
#include "common/text.h"
#include "common/units.h"

namespace assay::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kBusBandwidth[] = "bus_bandwidth";
constexpr char kBytes[] = "bytes";
// Letters of series.
constexpr size_t kMostSeries = 26;

// A result of the table.
struct Row {
  std::string benchmark;
  std::string metric;
  std::string unit;
  std::string hardware;
  std::string driver;
  std::map<std::string, std::string> parameters;  // Without the size.
  double bytes = 0;
  double median = 0;
  double knee = 0;  // NaN if there is no model.
};

std::map<std::string, std::string> ParseParameters(const std::string& text) {
  std::map<std::string, std::string> parameters;
  for (const std::string_view part : Split(text, ';')) {
    const size_t sign = part.find('=');
    if (sign == std::string_view::npos) continue;
    parameters[std::string(part.substr(0, sign))] = std::string(part.substr(sign + 1));
  }
  return parameters;
}

std::string HardwareOf(const TableReader& reader, int row) {
  const std::string model = reader.Text("gpu.model", row);
  if (model.empty()) return reader.Text("cpu.model", row);
  const double count = reader.Number("gpu.count", row);
  const std::string form_factor = reader.Text("gpu.form_factor", row);
  return (count > 1 ? FormatFixed(count, 0) + "x " : "") + model +
         (form_factor.empty() ? "" : " " + form_factor);
}

// Returns the rows that have a size and a bandwidth.
std::vector<Row> RowsOf(const v1::TabulateResultsResponse& table) {
  const TableReader reader(table);
  std::vector<Row> rows;
  for (int i = 0; i < table.row_count(); ++i) {
    Row row;
    row.parameters = ParseParameters(reader.Text("parameters", i));
    const auto size = row.parameters.find(kBytes);
    if (size == row.parameters.end()) continue;
    const Result<int64_t> bytes = ParseInteger(size->second);
    row.median = reader.Number("median", i);
    if (!bytes.ok() || *bytes <= 0 || !std::isfinite(row.median)) continue;
    row.bytes = static_cast<double>(*bytes);
    row.parameters.erase(size);
    row.benchmark = reader.Text("benchmark", i);
    row.metric = reader.Text("metric", i);
    row.unit = reader.Text("unit", i);
    row.hardware = HardwareOf(reader, i);
    row.driver = reader.Text("driver", i);
    row.knee = reader.Number("model_knee_bytes", i);
    rows.push_back(std::move(row));
  }
  return rows;
}

// Returns the names of the parameters that differ between rows.
std::set<std::string> VaryingOf(const std::vector<Row>& rows) {
  std::map<std::string, std::set<std::string>> values;
  for (const Row& row : rows) {
    for (const auto& [name, value] : row.parameters) values[name].insert(value);
  }
  std::set<std::string> varying;
  for (const auto& [name, of_name] : values) {
    if (of_name.size() > 1) varying.insert(name);
  }
  return varying;
}

std::string NameOf(const Row& row, const std::set<std::string>& varying) {
  std::vector<std::string> parts;
  if (!row.hardware.empty()) parts.push_back(row.hardware);
  if (!row.driver.empty()) parts.push_back("driver " + row.driver);
  for (const std::string& name : varying) {
    const auto found = row.parameters.find(name);
    if (found != row.parameters.end()) parts.push_back(name + "=" + found->second);
  }
  return parts.empty() ? "all" : Join(parts);
}

double BestOf(const BandwidthSeries& series) {
  double best = 0;
  for (const BandwidthPoint& point : series.points) best = std::max(best, point.median);
  return best;
}

// Returns a size that is no whole power of two, such as "3.81MiB".
std::string SizeText(double bytes) {
  constexpr double kStep = 1024;
  constexpr int kDigits = 3;
  const char* unit = "B";
  for (const char* const larger : {"KiB", "MiB", "GiB", "TiB"}) {
    if (bytes < kStep) break;
    bytes /= kStep;
    unit = larger;
  }
  return FormatSignificant(bytes, kDigits) + unit;
}

std::string LegendLine(const BandwidthSeries& series, char symbol, const std::string& unit) {
  const auto best = std::max_element(
      series.points.begin(), series.points.end(),
      [](const BandwidthPoint& a, const BandwidthPoint& b) { return a.median < b.median; });
  std::string line = std::string("  ") + symbol + "  " + series.name + ": up to " +
                     FormatQuantity(best->median, unit).ToString() + " at " +
                     FormatBytes(static_cast<int64_t>(best->bytes));
  if (series.knee_bytes) line += ", knee at " + SizeText(*series.knee_bytes);
  return line;
}

}  // namespace

const std::vector<std::string>& BandwidthFields() {
  static const std::vector<std::string> fields = {
      "benchmark", "metric",          "unit",      "parameters", "median",          "gpu.model",
      "gpu.count", "gpu.form_factor", "cpu.model", "driver",     "model_knee_bytes"};
  return fields;
}

std::string BandwidthFilter() {
  return "outcome = ok AND parameters.bytes > 0 AND metric = bus_bandwidth OR metric = bandwidth";
}

Bandwidths BandwidthsOf(const v1::TabulateResultsResponse& table) {
  std::vector<Row> rows = RowsOf(table);
  Bandwidths made;
  std::map<std::string, std::set<double>> sizes_of;
  for (const Row& row : rows) {
    sizes_of[row.benchmark].insert(row.bytes);
    ++made.other_benchmarks[row.benchmark];
  }
  for (const auto& [benchmark, sizes] : sizes_of) {
    const bool more = made.benchmark.empty() || sizes.size() > sizes_of[made.benchmark].size();
    if (more) made.benchmark = benchmark;
  }
  made.other_benchmarks.erase(made.benchmark);
  std::erase_if(rows, [&](const Row& row) { return row.benchmark != made.benchmark; });
  if (rows.empty()) return made;
  const bool has_bus = std::any_of(rows.begin(), rows.end(),
                                   [](const Row& row) { return row.metric == kBusBandwidth; });
  made.metric = has_bus ? kBusBandwidth : rows[0].metric;
  std::erase_if(rows, [&](const Row& row) { return row.metric != made.metric; });
  made.unit = rows[0].unit;
  std::erase_if(rows, [&](const Row& row) { return row.unit != made.unit; });

  const std::set<std::string> varying = VaryingOf(rows);
  std::map<std::string, std::map<double, std::vector<double>>> medians;  // By series and size.
  std::map<std::string, std::vector<double>> knees;
  for (const Row& row : rows) {
    const std::string name = NameOf(row, varying);
    medians[name][row.bytes].push_back(row.median);
    if (std::isfinite(row.knee) && row.knee > 0) knees[name].push_back(row.knee);
  }
  for (const auto& [name, sizes] : medians) {
    BandwidthSeries& series = made.series.emplace_back();
    series.name = name;
    for (const auto& [bytes, values] : sizes) {
      series.points.push_back({bytes, analysis::MedianOf(values), static_cast<int>(values.size())});
    }
    if (const auto known = knees.find(name); known != knees.end()) {
      series.knee_bytes = analysis::MedianOf(known->second);
    }
  }
  std::stable_sort(made.series.begin(), made.series.end(),
                   [](const auto& a, const auto& b) { return BestOf(a) > BestOf(b); });
  return made;
}

std::string BandwidthPlot(const Bandwidths& bandwidths, const PlotStyle& style) {
  if (bandwidths.series.empty()) return "";
  XyPlot plot;
  plot.x_unit = "B";
  plot.y_unit = bandwidths.unit;
  std::string legend;
  const size_t shown = std::min(bandwidths.series.size(), kMostSeries);
  for (size_t i = 0; i < shown; ++i) {
    const BandwidthSeries& series = bandwidths.series[i];
    const char symbol = static_cast<char>('A' + i);
    PlotLine& line = plot.lines.emplace_back();
    for (const BandwidthPoint& point : series.points) {
      line.points.emplace_back(point.bytes, point.median);
      plot.points.push_back({point.bytes, point.median, symbol});
    }
    legend += Wrap(Sanitize(LegendLine(series, symbol, bandwidths.unit)), style.width, 5) + "\n";
  }
  if (shown < bandwidths.series.size()) {
    legend += "  " +
              Counted(static_cast<int64_t>(bandwidths.series.size() - shown), "slower series",
                      "slower series") +
              " not shown; narrow the filter\n";
  }
  const bool has_knee =
      std::any_of(bandwidths.series.begin(), bandwidths.series.end(),
                  [](const BandwidthSeries& series) { return series.knee_bytes.has_value(); });
  if (has_knee) legend += "At the knee, latency is half of the time (alpha-beta model).\n";
  return Wrap(Sanitize(bandwidths.benchmark + ": " + bandwidths.metric + " in " + bandwidths.unit +
                       " against size"),
              style.width, 2) +
         "\n" + DrawXyPlot(plot, style) + legend;
}

std::string BandwidthTable(const Bandwidths& bandwidths, const Style& style) {
  Table table({{"SERIES", Align::kLeft, 1},
               {"SIZE", Align::kRight},
               {Sanitize(bandwidths.unit), Align::kRight},
               {"RESULTS", Align::kRight}});
  for (const BandwidthSeries& series : bandwidths.series) {
    for (const BandwidthPoint& point : series.points) {
      table.Add({Sanitize(series.name), FormatBytes(static_cast<int64_t>(point.bytes)),
                 FormatNumber(point.median, bandwidths.unit, 4), std::to_string(point.results)});
    }
  }
  return table.empty() ? "" : table.Render(style);
}

std::string BandwidthCsv(const Bandwidths& bandwidths) {
  std::string csv = CsvRecord(
      {"benchmark", "metric", "unit", "series", "bytes", "median", "results", "knee_bytes"});
  for (const BandwidthSeries& series : bandwidths.series) {
    for (const BandwidthPoint& point : series.points) {
      csv += CsvRecord({bandwidths.benchmark, bandwidths.metric, bandwidths.unit, series.name,
                        FormatExact(point.bytes), FormatExact(point.median),
                        std::to_string(point.results),
                        series.knee_bytes ? FormatExact(*series.knee_bytes) : ""});
    }
  }
  return csv;
}

std::string BandwidthJson(const Bandwidths& bandwidths) {
  Json json = {{"benchmark", bandwidths.benchmark},
               {"metric", bandwidths.metric},
               {"unit", bandwidths.unit},
               {"series", Json::array()}};
  for (const BandwidthSeries& series : bandwidths.series) {
    Json one = {{"name", series.name}};
    if (series.knee_bytes) one["knee_bytes"] = *series.knee_bytes;
    one["points"] = Json::array();
    for (const BandwidthPoint& point : series.points) {
      one["points"].push_back(
          {{"bytes", point.bytes}, {"median", point.median}, {"results", point.results}});
    }
    json["series"].push_back(std::move(one));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace assay::cli
