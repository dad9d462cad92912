// assay results
#include <memory>

#include "cli/commands/app.h"
#include "cli/commands/fetch_results.h"

namespace assay::cli {
namespace {

struct ResultsOptions {
  ResultsQuery query;
  OutputFormat format = OutputFormat::kTable;
};

Result<ExitCode> Results(Context& context, const ResultsOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  ASSAY_RETURN_IF_ERROR(PrintResults(client, options.query, options.format));
  return kExitDone;
}

}  // namespace

void AddResultsCommand(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("results", "Query stored results");
  command->footer(
      "In the table, ±% is half of the median's 95% confidence interval, in percent of the median: "
      "empty below six samples. FIT ±% is how far the times of other sizes are from the fitted "
      "line that predicts this one, in the median. Letters under FLAGS are explained below the "
      "table.");
  auto options = std::make_shared<ResultsOptions>();
  AddQueryOptions(*command, options->query);
  command
      ->add_option("--since", options->query.since,
                   "Only cases that ended at or after this time: an age such as 12h or 7d, a time "
                   "in UTC such as 2026-11-20T08:00, today or yesterday")
      ->check(NotEmpty());
  command->add_option("--until", options->query.until, "Only cases that ended before this time")
      ->check(NotEmpty());
  command->add_flag("--failing", options->query.failing,
                    "Only results with another outcome than ok");
  AddOutputOption(*command, options->format);
  OnRun(*command, context, options, Results);
}

}  // namespace assay::cli
