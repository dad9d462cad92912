// Defines the table of all fields of a stored result, from which the JSON and CSV output and the
// reference documentation are generated. Filters on these fields are in result_filter.h.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/result_service.pb.h"
#include "wire/field.h"

namespace assay::schema {

using ResultField = Field<v1::StoredResult>;

// Returns all fields in the order of CSV columns and JSON members.
const std::vector<ResultField>& ResultFields();

// Returns null if there is no such field.
const ResultField* FindResultField(std::string_view name);

// Returns "ok", "failed" or "unsupported", or an empty string if the outcome is unspecified.
std::string OutcomeName(v1::CaseOutcome outcome);

// Splits the result of a case (one run of a benchmark with fixed parameters) into one result per
// metric, each containing only the measurement of that metric. A case without measurements yields
// one result. Sets only the fields `case_result` and `primary`.
std::vector<v1::StoredResult> SplitByMetric(const v1::CaseResult& result);

// Formats a result as one line of JSON: a nested object with all fields that have a value. All
// Assay programs use this function, so they print identical JSON for the same result.
std::string ResultJson(const v1::StoredResult& result);

// Return the names and the values of the CSV columns, in the same order.
std::vector<std::string> ResultCsvColumns();
std::vector<std::string> ResultCsvTexts(const v1::StoredResult& result);

}  // namespace assay::schema
