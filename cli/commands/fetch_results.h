// Reads results from the coordinator and prints them in any form.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/result_service.pb.h"
#include "cli/commands/client.h"
#include "cli/views/output.h"
#include "cli/views/result_columns.h"
#include "common/clock.h"

namespace assay::cli {

struct ResultsQuery {
  // A filter in the syntax of AIP-160, as in ListResultsRequest.
  std::string filter;
  // The id or name of a campaign. Of several with this name, the newest is used. Empty for all.
  std::string campaign;
  // The range of end times of results: from `since` up to, but not including, `until`. Each is a
  // time, such as "2026-11-20", or an age, such as "12h". Empty for no limit.
  std::string since;
  std::string until;
  // If true, only results with another outcome than ok.
  bool failing = false;
  // The order, in the syntax of ListResultsRequest. Empty for newest first.
  std::string order_by;
  // The maximum number of results; 0 for all.
  int limit = 0;
};

// Parses the time that an option gives: a time in the syntax of filters, or an age such as "12h".
Result<WallTime> ParseTimeOption(const std::string& option, const std::string& text);

// Returns `value` as a quoted string of a filter.
std::string FilterText(const std::string& value);

// Combines the user's `filter` and `restriction` with AND. Returns an error if `filter` is
// malformed. Without this check, the coordinator's error would refer to a position in the combined
// filter, which the user has never seen.
Result<std::string> Narrowed(const std::string& filter, const std::string& restriction);

// Combines all conditions of `query`, such as the campaign and the time range, into one filter. The
// filter contains the campaign's id, because campaign names are not necessarily unique.
Result<std::string> CompleteFilter(Client& client, const ResultsQuery& query);

// Fetches the results that match `query`, in the query's order and up to its limit. Sets `left` to
// the number of matching results beyond the limit, up to 10,000. Returns only the primary metric of
// each benchmark case, unless the filter contains the field `metric`.
Result<std::vector<v1::StoredResult>> FetchResults(Client& client, const ResultsQuery& query,
                                                   int* left = nullptr);

// Prints to stderr that no results match the query. Adds a hint if results imported from other
// programs would match, or if a name in the filter may be misspelled.
void PrintNoMatch(Client& client, const ResultsQuery& query);

// Prints the same as PrintNoMatch, unless simulated results would match or the campaign has no
// results. In these cases, prints a message and a hint about that instead.
void ExplainNoMatch(Client& client, const ResultsQuery& query);

// Prints `results` on stdout, with only the given `columns` if there are any. Prints nothing if the
// output is a table without rows.
void PrintResults(const std::vector<v1::StoredResult>& results, OutputFormat format,
                  const std::vector<ResultColumn>& columns = {});

// Fetches and prints results. If the limit left out some, prints their number to stderr.
Status PrintResults(Client& client, const ResultsQuery& query, OutputFormat format,
                    const std::vector<ResultColumn>& columns = {});

}  // namespace assay::cli
