// assay results
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/app.h"
#include "cli/commands/fetch_results.h"
#include "cli/commands/pages.h"

namespace assay::cli {
namespace {

// Tables are for people, who rarely read more. CSV and JSON are complete unless a limit is given.
constexpr int kTableLimit = 50;
// The reason of a failure fits no column of the usual table.
constexpr char kFailureColumns[] =
    "time,node,benchmark,parameters,outcome,failure_reason,failure_message";

struct ResultsOptions {
  ResultsQuery query;
  std::optional<int> limit;
  std::string columns;
  OutputFormat format = OutputFormat::kTable;
};

Result<ExitCode> Results(Context& context, const ResultsOptions& options) {
  const bool table = options.format == OutputFormat::kTable;
  ResultsQuery query = options.query;
  query.limit = options.limit.value_or(table ? kTableLimit : kNoLimit);
  std::string names = options.columns;
  if (names.empty() && table && query.failing) names = kFailureColumns;
  std::vector<ResultColumn> columns;
  if (!names.empty()) {
    ASSAY_ASSIGN_OR_RETURN(columns, ParseResultColumns(names));
  }
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  ASSAY_RETURN_IF_ERROR(PrintResults(client, query, options.format, columns));
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
  AddSelectionOptions(*command, options->query);
  command
      ->add_option(
          "-n,--limit", options->limit,
          "At most this many; 0 for all. Without it, a table has 50, JSON and CSV have all")
      ->check(NotNegative());
  command
      ->add_option("--sort", options->query.sort,
                   "Fields to sort by instead of newest first: \"median desc, node\"")
      ->check(NotEmpty());
  command
      ->add_option("--columns", options->columns,
                   "Only these fields, separated by commas: node,parameters.m,median")
      ->check(NotEmpty());
  AddOutputOption(*command, options->format);
  OnRun(*command, context, options, Results);
}

}  // namespace assay::cli
