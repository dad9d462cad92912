// Filters over results: which fields they may name, and what they match.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/clock.h"
#include "common/status.h"
#include "model/filter.h"
#include "wire/result_fields.h"

namespace assay::schema {

// Parses and validates a filter on results. Converts times, which may be relative to `now` (see
// ParseTimeAt), to seconds since 1970. A size with a unit, such as 1MiB, also matches the number
// 1048576. Some results are excluded unless the filter contains one of these fields:
// - simulated results: `simulated`;
// - imported results: `imported`, `imported_from`, `campaign` or `campaign_id`;
// - secondary metrics: `metric` or `primary`.
// Returns INVALID_ARGUMENT with reason UNKNOWN_FIELD or BAD_FILTER if the filter is invalid. The
// hint, if any, suggests what was probably meant.
Result<Filter> ParseResultFilter(std::string_view text, WallTime now);
// Parses a filter relative to the current time of this machine's clock.
Result<Filter> ParseResultFilter(std::string_view text);

// Parses a time as ParseTime does. Also accepts times relative to `now`, such as "-12h", "-7d",
// "today" and "yesterday". The last two mean the start of that day in UTC.
Result<WallTime> ParseTimeAt(std::string_view text, WallTime now);

// Returns true if `result` matches a filter from ParseResultFilter.
Result<bool> MatchesResult(const Filter& filter, const v1::StoredResult& result);

// The result field to which a name in a filter refers. For an entry of a map, such as
// "parameters.dtype", `field` is the map "parameters" and `key` is "dtype".
struct NamedField {
  const ResultField* field = nullptr;
  std::string key;
};

// Finds the result field for a name in a filter. Returns nullopt if there is no such field or
// filters cannot use it. Names in filters are lower case, but NCCL variables are upper case, so
// "nccl_variables.nccl_algo" has the key NCCL_ALGO.
std::optional<NamedField> FilterableField(std::string_view name);

// Finds a field as FilterableField does, but returns an error instead of nullopt: INVALID_ARGUMENT
// with reason UNKNOWN_FIELD and a hint about what was probably meant. The error begins with
// `where`, such as "order_by".
Result<NamedField> FindFilterableField(std::string_view where, std::string_view name);

}  // namespace assay::schema
