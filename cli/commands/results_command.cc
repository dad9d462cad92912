// assay results, assay export
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/app.h"
#include "cli/commands/fetch_results.h"
#include "cli/commands/pages.h"
#include "common/text.h"
#include "wire/result_fields.h"

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

// A file gets its name when it is complete, so that a part is not mistaken for the whole.
Result<ExitCode> Export(Context& context, const ExportOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  if (options.file.empty()) {
    ASSAY_RETURN_IF_ERROR(WriteResults(client, options, stdout));
    return kExitDone;
  }
  const std::string part = options.file + ".part";
  const auto failure = [](const std::string& path) {
    return InvalidArgument("cannot write " + Quote(path, path.size()) + ": " +
                           std::strerror(errno));
  };
  File file(std::fopen(part.c_str(), "we"), std::fclose);
  if (!file) return failure(part);
  Status status = WriteResults(client, options, file.get());
  if (status.ok() && std::rename(part.c_str(), options.file.c_str()) != 0) {
    status = failure(options.file);
  }
  if (!status.ok()) {
    std::remove(part.c_str());
    return status;
  }
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
  command
      ->add_option("--columns", options->columns,
                   "Only these fields, separated by commas: node,parameters.m,median")
      ->check(NotEmpty());
  AddOutputOption(*command, options->format);
  OnRun(*command, context, options, Results);
  AddExportCommand(app, context);
}

}  // namespace assay::cli
