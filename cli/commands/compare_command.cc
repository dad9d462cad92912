// assay compare
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/app.h"
#include "cli/commands/fetch_results.h"
#include "cli/views/message_json.h"
#include "cli/views/results_view.h"
#include "cli/views/sides_view.h"
#include "common/text.h"

namespace assay::cli {
namespace {

constexpr int kTableLimit = 50;

struct CompareOptions {
  bool published = false;
  std::string by;
  // A and B, or B alone.
  std::string first;
  std::string second;
  std::string filter_a;
  std::string filter_b;
  double margin = 0;  // A fraction. 0 means the coordinator's default.
  ResultsQuery query;
  std::optional<int> limit;
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

Result<ExitCode> CompareWithFigures(Client& client, const CompareOptions& options) {
  ResultsQuery query = options.query;
  query.limit = options.limit.value_or(0);
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

// Returns an error if the options do not say what to compare, or do so in two ways.
Status CheckOptions(const CompareOptions& options) {
  if (options.by.empty() && !options.first.empty()) {
    return InvalidArgument("unexpected argument " + Quote(options.first) + "; values need --by")
        .WithHint("write for example --by driver " + Sanitize(options.first));
  }
  if (!options.published && options.by.empty() && options.filter_a.empty()) {
    return InvalidArgument("missing option: what to compare")
        .WithHint(
            "use --by driver for two drivers, --by node sim-0007 for one node against the others, "
            "--a FILTER --b FILTER for any two sides, or --published for published figures");
  }
  if (options.published && options.margin != 0) {
    return InvalidArgument("--margin does not apply to --published");
  }
  return Status::Ok();
}

Result<ExitCode> CompareSides(Client& client, const CompareOptions& options) {
  v1::CompareResultsRequest request;
  ASSAY_ASSIGN_OR_RETURN(*request.mutable_filter(), CompleteFilter(client, options.query));
  request.set_filter_a(options.filter_a);
  request.set_filter_b(options.filter_b);
  request.set_by(options.by == "gpu" ? "gpu.model" : options.by);
  if (!options.second.empty()) request.set_value_a(options.first);
  request.set_value_b(options.second.empty() ? options.first : options.second);
  request.set_margin(options.margin);
  ASSAY_ASSIGN_OR_RETURN(const v1::CompareResultsResponse comparison,
                         client.Call(&v1::AnalysisService::Stub::CompareResults, request));
  if (options.format == OutputFormat::kJson) {
    Print(MessageJson(comparison) + "\n");
  } else if (options.format == OutputFormat::kCsv) {
    Print(SidesCsv(comparison));
  } else if (comparison.runs_a() == 0 && comparison.runs_b() == 0 && comparison.cases().empty()) {
    ExplainNoMatch(client, options.query);
  } else if (comparison.cases().empty()) {
    PrintError(SidesText(comparison, 0, StyleOf(STDERR_FILENO)));
  } else {
    Print(SidesText(comparison, options.limit.value_or(kTableLimit), StyleOf(STDOUT_FILENO)));
  }
  if (comparison.cases().empty()) {
    // Fail, because a script must not take an empty comparison for "nothing regressed".
    if (options.format != OutputFormat::kTable) {
      PrintError(SidesText(comparison, 0, StyleOf(STDERR_FILENO)));
    }
    return kExitRefused;
  }
  return HasRegressed(comparison) ? kExitFailed : kExitDone;
}

Result<ExitCode> Compare(Context& context, const CompareOptions& options) {
  ASSAY_RETURN_IF_ERROR(CheckOptions(options));
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  return options.published ? CompareWithFigures(client, options) : CompareSides(client, options);
}

// Accepts "2%" or "2".
void AddMarginOption(CLI::App& command, double& margin) {
  constexpr double kMost = 50;
  command
      .add_option_function<std::string>(
          "--margin",
          [&margin](const std::string& text) {
            const std::string number = text.ends_with('%') ? text.substr(0, text.size() - 1) : text;
            double percent = 0;
            if (!CLI::detail::lexical_cast(number, percent) || !(percent > 0 && percent <= kMost)) {
              throw CLI::ValidationError(
                  "--margin", Quote(text) + " must be a percentage up to 50%, such as 2%");
            }
            margin = percent / 100;
          },
          "Differences below this do not matter (2%)")
      ->type_name("PERCENT");
}

// Adds the options that say what to compare.
void AddSideOptions(CLI::App& command, CompareOptions& options) {
  CLI::Option* const published =
      command.add_flag("--published", options.published,
                       "With published figures of the same GPU, benchmark and case");
  CLI::Option* const by =
      command
          .add_option("--by", options.by,
                      "Compare values of this field: driver, cuda, nccl, gpu (the model), "
                      "gpu.uuid, node, provider or campaign")
          ->check(CLI::IsMember({"driver", "cuda", "nccl", "gpu", "gpu.model", "gpu.uuid", "node",
                                 "provider", "campaign"}))
          ->type_name("FIELD")
          ->excludes(published);
  command
      .add_option("first", options.first,
                  "With --by: A, the old value; without a second value, B, which is compared with "
                  "all others")
      ->check(NotEmpty());
  command.add_option("second", options.second, "With --by: B, the new value")->check(NotEmpty());
  CLI::Option* const filter_a =
      command.add_option("--a", options.filter_a, "Results of side A: driver = 580.95.05")
          ->check(NotEmpty())
          ->type_name("FILTER")
          ->excludes(published)
          ->excludes(by);
  CLI::Option* const filter_b = command.add_option("--b", options.filter_b, "Results of side B")
                                    ->check(NotEmpty())
                                    ->type_name("FILTER")
                                    ->needs(filter_a);
  filter_a->needs(filter_b);
}

}  // namespace

void AddCompareCommand(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "compare", "Compare two drivers, nodes or other sides, or results with published ones");
  command->footer(
      "With two values, the first is A, the old side: CHANGE is the performance of B over that of "
      "A, so a minus means that B is slower, also for times. With one value, that is B, and all "
      "others are A. Without values, the results must have exactly two. A verdict needs 99% "
      "confidence. Exit status 1 means that a case regressed: B is slower by at least the margin; "
      "4 that nothing could be compared.");
  auto options = std::make_shared<CompareOptions>();
  AddSideOptions(*command, *options);
  AddMarginOption(*command, options->margin);
  AddRangeOptions(*command, options->query);
  command
      ->add_option("-n,--limit", options->limit,
                   "At most this many rows; 0 for all. Without it, a table has 50. With "
                   "--published: at most this many results, newest first")
      ->check(NotNegative());
  AddOutputOption(*command, options->format);
  OnRun(*command, context, options, Compare);
}

}  // namespace assay::cli
