// assay results, assay export
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/app.h"
#include "cli/commands/fetch_results.h"
#include "cli/commands/pages.h"
#include "cli/views/group_view.h"
#include "common/text.h"
#include "wire/result_fields.h"
#include "wire/result_filter.h"

namespace assay::cli {
namespace {

// The default maximum number of rows in a table. People rarely read more than this. CSV and JSON
// have no default maximum.
constexpr int kTableLimit = 50;
constexpr int kMaxGroups = 10'000;
// The reason of a failure fits no column of the usual table.
constexpr char kFailureColumns[] =
    "time,node,benchmark,parameters,outcome,failure_reason,failure_message";

struct ResultsOptions {
  ResultsQuery query;
  std::optional<int> limit;
  std::string columns;
  // Fields separated by commas. A minus before a field sorts descending.
  std::string sort;
  std::string by;
  bool best = false;
  OutputFormat format = OutputFormat::kTable;
};

// Returns the names in a list separated by commas. Returns an error if filters cannot use one.
Result<std::vector<std::string>> FieldNames(const std::string& option, const std::string& list) {
  std::vector<std::string> names;
  for (const std::string_view name : Split(list, ',')) {
    const std::string_view bare =
        option == "--sort" && name.starts_with('-') ? name.substr(1) : name;
    ASSAY_RETURN_IF_ERROR(schema::FindFilterableField(option, bare).status());
    names.emplace_back(name);
  }
  return names;
}

// Returns "median desc, node" for "-median,node".
Result<std::string> OrderOf(const std::string& sort) {
  if (sort.empty()) return std::string();
  ASSAY_ASSIGN_OR_RETURN(std::vector<std::string> names, FieldNames("--sort", sort));
  for (std::string& name : names) {
    if (name.starts_with('-')) name = name.substr(1) + " desc";
  }
  return Join(names);
}

// The hardware on which results depend.
const std::vector<std::string> kHardware = {"gpu.model", "gpu.form_factor", "gpu.count",
                                            "cpu.model"};

std::string GroupsText(const GroupedResults& grouped, const ResultsOptions& options) {
  if (options.format == OutputFormat::kCsv) return GroupsCsv(grouped);
  if (options.format == OutputFormat::kJson) return GroupsJson(grouped);
  const Style style = StyleOf(STDOUT_FILENO);
  return options.best ? BestTable(grouped, style) : GroupsTable(grouped, style);
}

// Prints one row per case and group, the best group of each case first.
Result<ExitCode> Groups(Context& context, const ResultsOptions& options) {
  GroupedResults grouped{kHardware, {}};
  if (!options.best) {
    ASSAY_ASSIGN_OR_RETURN(grouped.fields, FieldNames("--by", options.by));
  }
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  v1::GroupResultsRequest request;
  ASSAY_ASSIGN_OR_RETURN(*request.mutable_filter(), CompleteFilter(client, options.query));
  request.mutable_group_by()->Assign(grouped.fields.begin(), grouped.fields.end());
  // Fetch all groups, because the coordinator sends them in another order than the table's.
  request.set_limit(kMaxGroups);
  ASSAY_ASSIGN_OR_RETURN(v1::GroupResultsResponse response,
                         client.Call(&v1::ResultService::Stub::GroupResults, request));
  grouped.groups.assign(response.groups().begin(), response.groups().end());
  const bool table = options.format == OutputFormat::kTable;
  if (grouped.groups.empty() && table) ExplainNoMatch(client, options.query);
  SortBestFirst(grouped.groups);
  const size_t limit = static_cast<size_t>(options.limit.value_or(table ? kTableLimit : kNoLimit));
  const size_t all = grouped.groups.size();
  if (limit > 0 && all > limit) grouped.groups.resize(limit);
  Print(GroupsText(grouped, options));
  if (all > grouped.groups.size()) {
    PrintError(std::to_string(all - grouped.groups.size()) + " more groups; --limit 0 for all\n");
  }
  if (response.truncated()) {
    PrintError("There are too many groups to list; some are missing. Narrow the filter.\n");
  }
  return kExitDone;
}

Result<ExitCode> Results(Context& context, const ResultsOptions& options) {
  if (options.best || !options.by.empty()) return Groups(context, options);
  const bool table = options.format == OutputFormat::kTable;
  ResultsQuery query = options.query;
  ASSAY_ASSIGN_OR_RETURN(query.order_by, OrderOf(options.sort));
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

enum class ExportFormat { kCsv, kJsonLines };

struct ExportOptions {
  ResultsQuery query;
  ExportFormat format = ExportFormat::kCsv;
  // Empty for stdout.
  std::string file;
};

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

std::string ExportText(const v1::ListResultsResponse& page, ExportFormat format) {
  std::string text;
  for (const v1::StoredResult& result : page.results()) {
    text += format == ExportFormat::kCsv ? CsvRecord(schema::ResultCsvTexts(result))
                                         : schema::ResultJson(result) + "\n";
  }
  return text;
}

// Writes the results page by page, so that memory does not grow with their number.
Status WriteResults(Client& client, const ExportOptions& options, std::FILE* out) {
  const auto write = [&](const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), out) == text.size() && std::fflush(out) == 0) {
      return Status::Ok();
    }
    return FailedPrecondition("cannot write the output: " + std::string(std::strerror(errno)));
  };
  v1::ListResultsRequest request;
  ASSAY_ASSIGN_OR_RETURN(*request.mutable_filter(), CompleteFilter(client, options.query));
  if (options.format == ExportFormat::kCsv) {
    ASSAY_RETURN_IF_ERROR(write(CsvRecord(schema::ResultCsvColumns())));
  }
  return ForEachPage(
      client, &v1::ResultService::Stub::ListResults, request, kNoLimit,
      [&](const v1::ListResultsResponse& page) { return write(ExportText(page, options.format)); });
}

// Writes results to a file or stdout. A regular file has a temporary name until it is complete, so
// that users do not mistake a partial file for a complete one. Links, pipes and devices are written
// directly.
Result<ExitCode> Export(Context& context, const ExportOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  if (options.file.empty()) {
    ASSAY_RETURN_IF_ERROR(WriteResults(client, options, stdout));
    return kExitDone;
  }
  std::error_code unknown;
  const auto present = std::filesystem::symlink_status(options.file, unknown);
  const bool rename =
      !std::filesystem::exists(present) || std::filesystem::is_regular_file(present);
  const std::string part = rename ? options.file + ".part" : options.file;
  const auto failure = [](const std::string& path) {
    return InvalidArgument("cannot write " + Quote(path, path.size()) + ": " +
                           std::strerror(errno));
  };
  File file(std::fopen(part.c_str(), "we"), std::fclose);
  if (!file) return failure(part);
  Status status = WriteResults(client, options, file.get());
  if (rename && status.ok() && std::rename(part.c_str(), options.file.c_str()) != 0) {
    status = failure(options.file);
  }
  if (rename && !status.ok()) std::remove(part.c_str());
  ASSAY_RETURN_IF_ERROR(status);
  return kExitDone;
}

void AddExportCommand(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("export", "Write stored results for other programs");
  command->footer("Results are read page by page, in constant memory. Samples are not exported.");
  auto options = std::make_shared<ExportOptions>();
  AddSelectionOptions(*command, options->query);
  command
      ->add_option_function<std::string>(
          "-o,--output",
          [options = options.get()](const std::string& name) {
            options->format = name == "csv" ? ExportFormat::kCsv : ExportFormat::kJsonLines;
          },
          "Form of the output: csv (the default), or jsonl with one JSON object a line")
      ->check(CLI::IsMember({"csv", "jsonl"}))
      ->type_name("FORMAT");
  command->add_option("--file", options->file, "Write to this file instead of stdout")
      ->check(NotEmpty());
  OnRun(*command, context, options, Export);
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
  CLI::Option* const columns =
      command
          ->add_option("--columns", options->columns,
                       "Only these fields, separated by commas: node,parameters.m,median")
          ->check(NotEmpty());
  CLI::Option* const sort =
      command
          ->add_option("--sort", options->sort,
                       "Sort by these fields, separated by commas; a minus sorts descending: "
                       "-median,node. Without it, the newest are first")
          ->check(NotEmpty())
          ->type_name("FIELDS");
  CLI::Option* const by =
      command
          ->add_option("--by", options->by,
                       "One row per case and value of these fields, separated by commas: driver or "
                       "node,gpu.uuid. The best median of a case is first")
          ->check(NotEmpty())
          ->type_name("FIELDS")
          ->excludes(columns)
          ->excludes(sort);
  command->add_flag("--best", options->best, "One row per case and hardware: its best result")
      ->excludes(columns)
      ->excludes(sort)
      ->excludes(by);
  AddOutputOption(*command, options->format);
  OnRun(*command, context, options, Results);
  AddExportCommand(app, context);
}

}  // namespace assay::cli
