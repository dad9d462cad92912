// assay compare --published
#include <unistd.h>

#include <memory>

#include "cli/commands/app.h"
#include "cli/commands/fetch_results.h"
#include "cli/views/results_view.h"

namespace assay::cli {
namespace {

struct CompareOptions {
  bool published = false;
  ResultsQuery query;
  OutputFormat format = OutputFormat::kTable;
};

void PrintTable(Client& client, const ResultsQuery& query,
                const std::vector<v1::StoredResult>& results, const Comparisons& comparisons) {
  if (!comparisons.rows.empty()) Print(ComparisonTable(comparisons, StyleOf(STDOUT_FILENO)));
  if (results.empty()) {
    PrintNoMatch(client, query);
  } else if (comparisons.rows.empty()) {
    PrintError("None of the results has a published figure for its GPU and case.\n" +
               PublishedText(results, StyleOf(STDERR_FILENO)));
  } else if (comparisons.unmatched > 0) {
    PrintError(std::to_string(comparisons.unmatched) +
               " more results have no published counterpart.\n");
  }
}

Result<ExitCode> Compare(Context& context, const CompareOptions& options) {
  if (!options.published) {
    PrintError(
        "assay: missing option --published: compares with published results of the same GPU and "
        "case\nSee: assay compare --help\n");
    return kExitUsage;
  }
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  ResultsQuery query = options.query;
  // Without a filter on metrics, only primary metrics would be returned.
  ASSAY_ASSIGN_OR_RETURN(query.filter, Narrowed(query.filter, PublishedMetricsFilter()));
  ASSAY_ASSIGN_OR_RETURN(const std::vector<v1::StoredResult> results, FetchResults(client, query));
  const Comparisons comparisons = CompareWithPublished(results);
  if (options.format == OutputFormat::kJson) {
    Print(ComparisonJson(comparisons));
  } else if (options.format == OutputFormat::kCsv) {
    Print(ComparisonCsv(comparisons));
  } else {
    PrintTable(client, query, results, comparisons);
  }
  return kExitDone;
}

}  // namespace

void AddCompareCommand(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("compare", "Compare stored results with published ones");
  auto options = std::make_shared<CompareOptions>();
  command->add_flag("--published", options->published,
                    "With published figures of the same GPU, benchmark and case");
  AddQueryOptions(*command, options->query);
  AddOutputOption(*command, options->format);
  OnRun(*command, context, options, Compare);
}

}  // namespace assay::cli
