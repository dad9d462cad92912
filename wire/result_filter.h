// Filters over results: which fields they may name, and what they match.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/status.h"
#include "model/filter.h"
#include "wire/result_fields.h"

namespace assay::schema {

// Parses and validates a filter over results. Converts times to seconds since 1970, and matches a
// size in either form: 1MiB also matches 1048576. Each of these groups of results is excluded
// unless the filter mentions one of its fields:
// - simulated results: `simulated`;
// - imported results: `imported`, `imported_from`, `campaign` or `campaign_id`;
// - secondary metrics: `metric` or `primary`.
// Returns INVALID_ARGUMENT with reason UNKNOWN_FIELD or BAD_FILTER, and a hint about what was
// probably meant.
Result<Filter> ParseResultFilter(std::string_view text);

// True if `result` matches a filter that ParseResultFilter made.
Result<bool> MatchesResult(const Filter& filter, const v1::StoredResult& result);

// The result field that a filter refers to. For an entry of a map, such as "parameters.dtype",
// `field` is the map "parameters" and `key` is "dtype".
struct NamedField {
  const ResultField* field = nullptr;
  std::string key;
};

// Finds the result field for a name in a filter. Returns nullopt if filters cannot use the field.
// Names in filters are lower-case, but NCCL variables are upper-case: "nccl_variables.nccl_algo"
// has the key NCCL_ALGO.
std::optional<NamedField> FilterableField(std::string_view name);

}  // namespace assay::schema
