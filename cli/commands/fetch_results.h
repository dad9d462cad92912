// Reading results from the coordinator and writing them in any of the forms.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "assay/v1/result_service.pb.h"
#include "cli/commands/client.h"
#include "cli/views/output.h"

namespace assay::cli {

struct ResultsQuery {
  // AIP-160, as ListResultsRequest.
  std::string filter;
  // Id, or name (the newest of that name); empty for all.
  std::string campaign;
  // 0 for all.
  int limit = 0;
};

// Adds --filter, --campaign and --limit to a command.
void AddQueryOptions(CLI::App& command, ResultsQuery& query);

// `filter` as a user typed it AND `restriction`. Refuses a filter that cannot be read here:
// the coordinator would count characters of the longer one.
Result<std::string> Narrowed(const std::string& filter, const std::string& restriction);

// What the query finds, newest first. Of primary metrics unless the filter names
// `metric`.
Result<std::vector<v1::StoredResult>> FetchResults(Client& client, const ResultsQuery& query);

// Says on stderr that the query found nothing, and asks whether imported results, which
// are left out unless the filter names them, would match; else what may be misspelt.
void PrintNoMatch(Client& client, const ResultsQuery& query);

// Prints `results` on stdout; a table without rows is nothing.
void PrintResults(const std::vector<v1::StoredResult>& results, OutputFormat format);

// Prints what the query finds, newest first.
Status PrintResults(Client& client, const ResultsQuery& query, OutputFormat format);

}  // namespace assay::cli
