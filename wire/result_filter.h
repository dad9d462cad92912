// Filters over results: which fields they may name, and what they match.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/status.h"
#include "model/filter.h"
#include "wire/result_fields.h"

namespace assay::schema {

// Parses and checks a filter. Converts times to seconds since 1970. Where a parameter or an NCCL
// variable is compared with a size such as 1MiB, also compares with its number.
//
// Leaves out results that are simulated, imported or of a secondary metric, unless the filter
// names `simulated`; `imported`, `imported_from`, `campaign` or `campaign_id`; `metric` or
// `primary`.
//
// INVALID_ARGUMENT with reason UNKNOWN_FIELD or BAD_FILTER. The hint says what was probably meant.
Result<Filter> ParseResultFilter(std::string_view text);

// True if `result` matches a filter that ParseResultFilter made.
Result<bool> MatchesResult(const Filter& filter, const v1::StoredResult& result);

// The field that a restriction names. For "parameters.dtype" that is the field of type kMap, and
// `key` is "dtype".
struct NamedField {
  const ResultField* field = nullptr;
  std::string key;
};

// Nullopt if filters cannot use the field. A filter's fields are in lower case and NCCL's
// variables in upper case: "nccl_variables.nccl_algo" has the key NCCL_ALGO.
std::optional<NamedField> FilterableField(std::string_view name);

}  // namespace assay::schema
