// assay results
#include <unistd.h>

#include <memory>
#include <vector>

#include "cli/commands/context.h"
#include "cli/commands/fetch_results.h"
#include "cli/commands/pages.h"
#include "cli/views/filter_guess.h"
#include "cli/views/results_view.h"
#include "common/text.h"
#include "model/filter.h"
#include "wire/result_fields.h"

namespace assay::cli {
namespace {

constexpr char kImportedToo[] = "imported : *";

struct ResultsOptions {
  ResultsQuery query;
  OutputFormat format = OutputFormat::kTable;
};

// The filter with the campaign in it, by id: names are not unique.
Result<std::string> CompleteFilter(Client& client, const ResultsQuery& query) {
  if (query.campaign.empty()) return query.filter;
  v1::GetCampaignRequest request;
  request.set_campaign(query.campaign);
  ASSAY_ASSIGN_OR_RETURN(
      const v1::GetCampaignResponse response,
      client.Call(&v1::CampaignService::Stub::GetCampaign, client.campaigns(), request));
  return Narrowed(query.filter, "campaign_id = \"" + response.campaign().campaign_id() + "\"");
}

// True if imported results match, which are left out unless the filter names them: one of
// them is asked for. An error here is none of the query, which was answered.
bool ImportedMatch(Client& client, ResultsQuery query) {
  if (!query.campaign.empty()) return false;
  const Result<Filter> filter = ParseFilter(query.filter);
  if (!filter.ok()) return false;
  for (const char* field : {"imported", "imported_from", "campaign", "campaign_id"}) {
    if (Mentions(*filter, field)) return false;
  }
  query.filter = Narrowed(query.filter, kImportedToo).value();
  query.limit = 1;
  const auto results = FetchResults(client, query);
  return results.ok() && !results->empty();
}

// What the filter may have misspelt; empty if nothing, or if the fleet cannot be asked.
std::string Misspelt(Client& client, const ResultsQuery& query) {
  const Result<Filter> filter = ParseFilter(query.filter);
  if (!filter.ok() || filter->kind == Filter::Kind::kAll) return "";
  const auto fleet = client.Call(&v1::CampaignService::Stub::ListFleetBenchmarks,
                                 client.campaigns(), v1::ListFleetBenchmarksRequest());
  return fleet.ok() ? GuessMisspelt(*filter, *fleet) : "";
}

ExitCode Results(Context& context, const ResultsOptions& options) {
  Result<Client> client = Client::ToCoordinator(context.client);
  if (!client.ok()) return Report(client.status());
  const Status status = PrintResults(*client, options.query, options.format);
  return status.ok() ? kExitDone : Report(status);
}

}  // namespace

void PrintResults(const std::vector<v1::StoredResult>& results, OutputFormat format) {
  if (format == OutputFormat::kJson) {
    JsonArray array;
    std::string json;
    for (const v1::StoredResult& result : results) json += array.AddText(schema::ResultJson(result));
    Print(json + array.Finish());
  } else if (format == OutputFormat::kCsv) {
    std::string csv = CsvRecord(schema::ResultCsvColumns());
    for (const v1::StoredResult& result : results) csv += CsvRecord(schema::ResultCsvTexts(result));
    Print(csv);
  } else if (!results.empty()) {
    Print(ResultsTable(results, StyleOf(STDOUT_FILENO)));
  }
}

Result<std::string> Narrowed(const std::string& filter, const std::string& restriction) {
  ASSAY_ASSIGN_OR_RETURN(const Filter typed, ParseFilter(filter));
  // OR binds tighter than AND, so neither needs parentheses.
  return typed.kind == Filter::Kind::kAll ? restriction : filter + " AND " + restriction;
}

Result<std::vector<v1::StoredResult>> FetchResults(Client& client, const ResultsQuery& query) {
  v1::ListResultsRequest request;
  ASSAY_ASSIGN_OR_RETURN(*request.mutable_filter(), CompleteFilter(client, query));
  return CollectPages<v1::StoredResult>(
      client, &v1::ResultService::Stub::ListResults, client.results(), request, query.limit,
      [](v1::ListResultsResponse& page) { return page.mutable_results(); });
}

void PrintNoMatch(Client& client, const ResultsQuery& query) {
  PrintError("No results match.\n");
  if (ImportedMatch(client, query)) {
    PrintError(std::string("hint: imported results do: add `") + kImportedToo + "` to --filter\n");
  } else if (const std::string misspelt = Misspelt(client, query); !misspelt.empty()) {
    PrintError("hint: " + Sanitize(misspelt) + "\n");
  }
}

Status PrintResults(Client& client, const ResultsQuery& query, OutputFormat format) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<v1::StoredResult> results, FetchResults(client, query));
  if (results.empty() && format == OutputFormat::kTable) {
    if (!query.campaign.empty() && query.filter.empty()) {
      PrintError("The campaign has no results.\nhint: assay campaign show " +
                 Sanitize(query.campaign) + " tells what became of its jobs\n");
    } else {
      PrintNoMatch(client, query);
    }
  }
  PrintResults(results, format);
  return Status::Ok();
}

void AddQueryOptions(CLI::App& command, ResultsQuery& query) {
  command.add_option("--filter", query.filter,
                     "For example: benchmark=\"gemm\" AND gpu.model=\"H200\" AND driver>=\"580\"");
  command.add_option("--campaign", query.campaign,
                     "Only of this campaign: id, or name (the newest of that name)");
  command.add_option("-n,--limit", query.limit, "At most this many, newest first")
      ->check(NotNegative());
}

void AddResultsCommand(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("results", "Query stored results");
  command->footer(
      "In the table, ±% is half of the median's 95% confidence interval, in percent of the median: "
      "empty below six samples. FIT ±% is how far the times of other sizes are from the fitted "
      "line that predicts this one, in the median. Letters under FLAGS are explained below the "
      "table.");
  auto options = std::make_shared<ResultsOptions>();
  AddQueryOptions(*command, options->query);
  AddOutputOption(*command, options->format);
  OnRun(*command, context, options, Results);
}

}  // namespace assay::cli
