// assay history
#include <unistd.h>

#include <memory>
#include <string>

#include "campaign/accept_rule.h"
#include "cli/commands/app.h"
#include "cli/commands/fetch_results.h"
#include "cli/views/history_view.h"
#include "cli/views/message_json.h"
#include "common/text.h"

namespace assay::cli {
namespace {

struct HistoryOptions {
  std::string subject;  // As the left side of an accept rule.
  std::string node;
  int places = 20;
  ResultsQuery query;
  OutputFormat format = OutputFormat::kTable;
};

// Returns the filter for a case: gemm[m=4096,dtype=bf16] or gemm[m=4096].tflops.
Result<std::string> FilterOfCase(const std::string& subject) {
  // An accept rule is such a case with a metric and a limit.
  Result<campaign::AcceptRule> rule = campaign::ParseAcceptRule(subject + " >= 0");
  const bool has_metric = rule.ok();
  if (!has_metric) rule = campaign::ParseAcceptRule(subject + ".any >= 0");
  if (!rule.ok()) {
    return InvalidArgument(Quote(subject) + " is not a case")
        .WithHint(
            "write a benchmark, its parameters and a metric; the last two are optional: "
            "gemm[m=4096,dtype=bf16].tflops");
  }
  std::string filter = "benchmark = " + FilterText(rule->benchmark);
  for (const auto& [name, value] : rule->parameters) {
    filter += " AND parameters." + name + " = " + FilterText(value);
  }
  if (has_metric) filter += " AND metric = " + FilterText(rule->metric);
  return filter;
}

Result<ExitCode> History(Context& context, const HistoryOptions& options) {
  ResultsQuery query = options.query;
  ASSAY_ASSIGN_OR_RETURN(const std::string filter, FilterOfCase(options.subject));
  ASSAY_ASSIGN_OR_RETURN(query.filter, Narrowed(query.filter, filter));
  if (!options.node.empty()) query.filter += " AND node = " + FilterText(options.node);
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  v1::GetHistoryRequest request;
  ASSAY_ASSIGN_OR_RETURN(*request.mutable_filter(), CompleteFilter(client, query));
  request.set_place_limit(options.places);
  ASSAY_ASSIGN_OR_RETURN(const v1::GetHistoryResponse history,
                         client.Call(&v1::AnalysisService::Stub::GetHistory, request));
  if (options.format == OutputFormat::kJson) {
    Print(MessageJson(history) + "\n");
  } else if (options.format == OutputFormat::kCsv) {
    Print(HistoryCsv(history));
    if (history.remaining_count() > 0) {
      PrintError(Counted(history.remaining_count(), "more place") +
                 "; to include them, use --places\n");
    }
  } else if (!history.places().empty()) {
    Print(HistoryText(history, PlotStyleOfStdout(), StyleOf(STDOUT_FILENO)));
  } else if (history.failed_count() > 0) {
    PrintError("All " + Counted(history.failed_count(), "result") +
               " of this case failed; to list them: assay results --failing\n");
  } else {
    ExplainNoMatch(client, query);
  }
  return kExitDone;
}

}  // namespace

void AddHistoryCommand(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("history", "Plot the runs of a case over time, and find its steps");
  command->footer(
      "A step is a lasting change: CHANGE is the performance after it over that before, so a minus "
      "means slower, also for times. With several places, the curve is their median. CSV has "
      "every run.");
  auto options = std::make_shared<HistoryOptions>();
  command
      ->add_option("case", options->subject,
                   "Benchmark, with parameters and a metric if needed, as in accept rules: gemm, "
                   "gemm[m=4096,dtype=bf16] or gemm[m=4096].tflops")
      ->required();
  AddRangeOptions(*command, options->query);
  command->add_option("--node", options->node, "Only on this node")->check(NotEmpty());
  constexpr double kMostPlaces = 1000;
  command
      ->add_option("--places", options->places,
                   "At most this many places (GPUs, or groups of them), those with steps first")
      ->capture_default_str()
      ->check(NumberWithin(1, kMostPlaces));
  AddOutputOption(*command, options->format);
  OnRun(*command, context, options, History);
}

}  // namespace assay::cli
