#include "cli/commands/fetch_results.h"

#include <unistd.h>

#include "cli/commands/pages.h"
#include "cli/views/filter_guess.h"
#include "cli/views/format.h"
#include "cli/views/results_view.h"
#include "common/text.h"
#include "model/filter.h"
#include "wire/result_fields.h"
#include "wire/result_filter.h"
#include "wire/timestamps.h"

namespace assay::cli {
namespace {

constexpr char kImportedToo[] = "imported : *";
constexpr char kSimulatedToo[] = "simulated = true";
// The coordinator stops counting results at this number.
constexpr int kMostCounted = 10'000;

// Adds a limit on the end time of results to `filter`. If `text` is an age, such as "12h", converts
// it to a time, so that the limit is the same for all pages of results.
Status AddTime(std::string& filter, const std::string& option, std::string_view comparator,
               const std::string& text) {
  if (text.empty()) return Status::Ok();
  ASSAY_ASSIGN_OR_RETURN(const WallTime time, ParseTimeOption(option, text));
  ASSAY_ASSIGN_OR_RETURN(filter, Narrowed(filter, "end_time " + std::string(comparator) + " " +
                                                      FormatTimeExact(schema::ToTimestamp(time))));
  return Status::Ok();
}

// Returns true if imported results, which come from other benchmark programs, would also match the
// query. The coordinator excludes them unless the filter mentions them. Returns false on errors,
// because the result only determines whether to print a hint.
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

// Returns true if simulated results would also match the query. The coordinator excludes them
// unless the filter mentions them. Returns false on errors, because the result only determines
// whether to print a hint.
bool SimulatedMatch(Client& client, ResultsQuery query) {
  const Result<Filter> filter = ParseFilter(query.filter);
  if (!filter.ok() || Mentions(*filter, "simulated")) return false;
  query.filter = Narrowed(query.filter, kSimulatedToo).value();
  query.limit = 1;
  const auto results = FetchResults(client, query);
  return results.ok() && !results->empty();
}

// Returns a suggestion for a misspelled name in the filter, or an empty string if there is none.
std::string Misspelt(Client& client, const ResultsQuery& query) {
  const Result<Filter> filter = ParseFilter(query.filter);
  if (!filter.ok() || filter->kind == Filter::Kind::kAll) return "";
  const auto fleet = client.Call(&v1::CampaignService::Stub::ListFleetBenchmarks,
                                 v1::ListFleetBenchmarksRequest());
  return fleet.ok() ? GuessMisspelt(*filter, *fleet) : "";
}

}  // namespace

Result<WallTime> ParseTimeOption(const std::string& option, const std::string& text) {
  const WallTime now = Clock::Real().WallNow();
  Result<WallTime> time = schema::ParseTimeAt(text, now);
  if (!time.ok()) time = schema::ParseTimeAt("-" + text, now);
  if (time.ok()) return time;
  return InvalidArgument(option + ": " + Quote(text) + " is not a time")
      .WithHint(
          "write an age such as 12h or 7d, a time in UTC such as 2026-11-20 or 2026-11-20T08:00, "
          "today or yesterday");
}

Result<std::string> CompleteFilter(Client& client, const ResultsQuery& query) {
  std::string filter = query.filter;
  if (query.failing) {
    ASSAY_ASSIGN_OR_RETURN(filter, Narrowed(filter, "outcome != ok"));
  }
  ASSAY_RETURN_IF_ERROR(AddTime(filter, "--since", ">=", query.since));
  ASSAY_RETURN_IF_ERROR(AddTime(filter, "--until", "<", query.until));
  if (query.campaign.empty()) return filter;
  v1::GetCampaignRequest request;
  request.set_campaign(query.campaign);
  ASSAY_ASSIGN_OR_RETURN(const v1::GetCampaignResponse response,
                         client.Call(&v1::CampaignService::Stub::GetCampaign, request));
  return Narrowed(filter, "campaign_id = \"" + response.campaign().campaign_id() + "\"");
}

void PrintResults(const std::vector<v1::StoredResult>& results, OutputFormat format,
                  const std::vector<ResultColumn>& columns) {
  if (!columns.empty()) {
    if (format == OutputFormat::kJson) {
      Print(ColumnsJson(results, columns));
    } else if (format == OutputFormat::kCsv) {
      Print(ColumnsCsv(results, columns));
    } else if (!results.empty()) {
      Print(ColumnsTable(results, columns, StyleOf(STDOUT_FILENO)));
    }
  } else if (format == OutputFormat::kJson) {
    JsonArray array;
    std::string json;
    for (const v1::StoredResult& result : results)
      json += array.AddText(schema::ResultJson(result));
    Print(json + array.Finish());
  } else if (format == OutputFormat::kCsv) {
    std::string csv = CsvRecord(schema::ResultCsvColumns());
    for (const v1::StoredResult& result : results) csv += CsvRecord(schema::ResultCsvTexts(result));
    Print(csv);
  } else if (!results.empty()) {
    Print(ResultsTable(results, StyleOf(STDOUT_FILENO)));
  }
}

std::string FilterText(const std::string& value) {
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + "\"";
}

Result<std::string> Narrowed(const std::string& filter, const std::string& restriction) {
  ASSAY_ASSIGN_OR_RETURN(const Filter typed, ParseFilter(filter));
  // OR binds tighter than AND, so neither needs parentheses.
  return typed.kind == Filter::Kind::kAll ? restriction : filter + " AND " + restriction;
}

Result<std::vector<v1::StoredResult>> FetchResults(Client& client, const ResultsQuery& query,
                                                   int* left) {
  v1::ListResultsRequest request;
  request.set_order_by(query.order_by);
  ASSAY_ASSIGN_OR_RETURN(*request.mutable_filter(), CompleteFilter(client, query));
  std::vector<v1::StoredResult> results;
  const auto collect = [&](v1::ListResultsResponse& page) {
    for (v1::StoredResult& result : *page.mutable_results()) results.push_back(std::move(result));
    if (left != nullptr) *left = page.remaining_count();
    return Status::Ok();
  };
  ASSAY_RETURN_IF_ERROR(
      ForEachPage(client, &v1::ResultService::Stub::ListResults, request, query.limit, collect));
  return results;
}

void PrintNoMatch(Client& client, const ResultsQuery& query) {
  PrintError("No results match.\n");
  if (ImportedMatch(client, query)) {
    PrintError(std::string("hint: imported results match: add `") + kImportedToo +
               "` to --filter\n");
  } else if (const std::string misspelt = Misspelt(client, query); !misspelt.empty()) {
    PrintError("hint: " + Sanitize(misspelt) + "\n");
  }
}

void ExplainNoMatch(Client& client, const ResultsQuery& query) {
  if (SimulatedMatch(client, query)) {
    PrintError(std::string("No measured results match.\nhint: simulated results match: add `") +
               kSimulatedToo + "` to --filter\n");
  } else if (!query.campaign.empty() && query.filter.empty()) {
    PrintError("The campaign has no results.\nhint: to see its jobs: assay campaign show " +
               Sanitize(query.campaign) + "\n");
  } else {
    PrintNoMatch(client, query);
  }
}

Status PrintResults(Client& client, const ResultsQuery& query, OutputFormat format,
                    const std::vector<ResultColumn>& columns) {
  int left = 0;
  ASSAY_ASSIGN_OR_RETURN(const std::vector<v1::StoredResult> results,
                         FetchResults(client, query, &left));
  if (results.empty() && format == OutputFormat::kTable) ExplainNoMatch(client, query);
  PrintResults(results, format, columns);
  if (left > 0) {
    PrintError((left >= kMostCounted ? "At least " : "") + std::to_string(left) +
               " more results match; --limit 0 for all\n");
  }
  return Status::Ok();
}

}  // namespace assay::cli
