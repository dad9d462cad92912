// assay plot
#include <unistd.h>

#include <map>
#include <memory>
#include <string>

#include "cli/commands/app.h"
#include "cli/commands/fetch_results.h"
#include "cli/views/bandwidth_plot.h"
#include "cli/views/message_json.h"
#include "cli/views/roofline_plot.h"
#include "common/text.h"

namespace assay::cli {
namespace {

enum class PlotFormat { kPlot, kTable, kJson, kCsv };

struct PlotOptions {
  ResultsQuery query;
  int limit = 1000;
  PlotFormat format = PlotFormat::kPlot;
};

// These plots have two axes with values, so they need more rows than a history.
PlotStyle TallPlotStyle() {
  PlotStyle style = PlotStyleOfStdout();
  constexpr int kRows = 18;
  constexpr int kWideRows = 24;
  constexpr int kWide = 140;
  style.rows = style.width >= kWide ? kWideRows : kRows;
  return style;
}

void PrintRemaining(int remaining, const std::string& remedy) {
  if (remaining > 0) PrintError(Counted(remaining, "more result") + "; " + remedy + "\n");
}

// Explains on stderr why there is nothing to plot. If results match the query but cannot be
// plotted, prints `needed`, a sentence that says what is missing. Then prints `hint`, which says
// how to obtain suitable results.
void ExplainNothing(Client& client, ResultsQuery query, const std::string& needed,
                    const std::string& hint) {
  query.limit = 1;
  const auto matching = FetchResults(client, query);
  if (matching.ok() && matching->empty()) {
    ExplainNoMatch(client, query);
  } else {
    PrintError(needed + "\n");
  }
  PrintError("hint: " + hint + "\n");
}

Result<ExitCode> PlotRoofline(Context& context, const PlotOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  v1::GetRooflineRequest request;
  ASSAY_ASSIGN_OR_RETURN(*request.mutable_filter(), CompleteFilter(client, options.query));
  request.set_limit(options.limit);
  ASSAY_ASSIGN_OR_RETURN(const v1::GetRooflineResponse found,
                         client.Call(&v1::AnalysisService::Stub::GetRoofline, request));
  if (options.format == PlotFormat::kJson) {
    Print(MessageJson(found) + "\n");
  } else if (options.format == PlotFormat::kCsv) {
    Print(RooflineCsv(found));
  } else if (found.rooflines().empty()) {
    ExplainNothing(client, options.query,
                   "No result that matches has both FLOPs and bytes, which a roofline needs.",
                   "a campaign of gemm and memory_bandwidth gives some, as examples/roofline.yaml");
  } else if (options.format == PlotFormat::kTable) {
    Print(RooflineTable(found, StyleOf(STDOUT_FILENO)));
  } else {
    Print(RooflinePlot(found, TallPlotStyle()));
  }
  PrintRemaining(found.remaining_count(), "to include them, use --limit or narrow --filter");
  return kExitDone;
}

Result<ExitCode> PlotBandwidth(Context& context, const PlotOptions& options) {
  ResultsQuery query = options.query;
  ASSAY_ASSIGN_OR_RETURN(query.filter, Narrowed(query.filter, BandwidthFilter()));
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  v1::TabulateResultsRequest request;
  ASSAY_ASSIGN_OR_RETURN(*request.mutable_filter(), CompleteFilter(client, query));
  request.mutable_fields()->Assign(BandwidthFields().begin(), BandwidthFields().end());
  request.set_limit(options.limit);
  ASSAY_ASSIGN_OR_RETURN(const v1::TabulateResultsResponse table,
                         client.Call(&v1::ResultService::Stub::TabulateResults, request));
  const Bandwidths found = BandwidthsOf(table);
  if (options.format == PlotFormat::kJson) {
    Print(BandwidthJson(found));
  } else if (options.format == PlotFormat::kCsv) {
    Print(BandwidthCsv(found));
  } else if (found.series.empty()) {
    ExplainNothing(client, options.query, "No result that matches has a bandwidth and a size.",
                   "a campaign of all_reduce, or tcp_bandwidth, with several `bytes` gives some");
  } else if (options.format == PlotFormat::kTable) {
    Print(BandwidthTable(found, StyleOf(STDOUT_FILENO)));
  } else {
    Print(BandwidthPlot(found, TallPlotStyle()));
  }
  if (!found.other_benchmarks.empty()) {
    const auto& [benchmark, count] = *found.other_benchmarks.begin();
    PrintError(Counted(static_cast<int64_t>(found.other_benchmarks.size()), "other benchmark") +
               " also matched; to plot one: --filter 'benchmark = " + Sanitize(benchmark) + "'\n");
  }
  PrintRemaining(table.remaining_count(), "to include them, use --limit or narrow --filter");
  return kExitDone;
}

CLI::App* AddPlot(CLI::App& plot, const std::string& name, const std::string& summary,
                  const std::shared_ptr<PlotOptions>& options) {
  static const std::map<std::string, PlotFormat> kFormats = {{"plot", PlotFormat::kPlot},
                                                             {"table", PlotFormat::kTable},
                                                             {"json", PlotFormat::kJson},
                                                             {"csv", PlotFormat::kCsv}};
  CLI::App* command = plot.add_subcommand(name, summary);
  AddRangeOptions(*command, options->query);
  constexpr double kMost = 10'000;
  command->add_option("-n,--limit", options->limit, "At most this many results, the newest")
      ->capture_default_str()
      ->check(NumberWithin(1, kMost));
  command
      ->add_option_function<std::string>(
          "-o,--output",
          [options = options.get()](const std::string& format) {
            options->format = kFormats.at(format);
          },
          "Form of the output: plot (the default), or its values as table, json or csv")
      ->check(CLI::IsMember({"plot", "table", "json", "csv"}))
      ->type_name("FORMAT");
  return command;
}

}  // namespace

void AddPlotCommand(CLI::App& app, Context& context) {
  CLI::App* plot = app.add_subcommand("plot", "Plot results in the terminal");
  plot->require_subcommand(1);
  auto options = std::make_shared<PlotOptions>();
  CLI::App* roofline = AddPlot(
      *plot, "roofline", "Plot FLOP/s over FLOPs per byte, below the limits of the GPU", options);
  roofline->footer(
      "Numbers mark roofs: by the spec sheet, by the best measured result, and by the sheet at the "
      "clock of the points. Letters mark results by what takes their time. Examples:\n"
      "  assay plot roofline --filter 'gpu.model = H200 AND benchmark = gemm'\n"
      "  assay plot roofline --campaign nightly -o csv");
  OnRun(*roofline, context, options, PlotRoofline);
  options = std::make_shared<PlotOptions>();
  CLI::App* bandwidth = AddPlot(
      *plot, "bandwidth", "Plot the bandwidth of one benchmark over the size of the data", options);
  bandwidth->footer(
      "Plots bus bandwidth if the benchmark has it, in the median over results, with one letter "
      "for "
      "each kind of GPU, driver and other parameters. Examples:\n"
      "  assay plot bandwidth --filter 'benchmark = all_reduce'\n"
      "  assay plot bandwidth --filter 'benchmark = tcp_bandwidth AND node = g3' --since 7d");
  OnRun(*bandwidth, context, options, PlotBandwidth);
}

}  // namespace assay::cli
