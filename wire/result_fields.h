// The table of the fields of a stored result, and the forms that are made from it: JSON, CSV and
// the reference page. Filters are in result_filter.h.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/result_service.pb.h"
#include "wire/field.h"

namespace assay::schema {

using ResultField = Field<v1::StoredResult>;

// In the order of CSV columns and JSON members.
const std::vector<ResultField>& ResultFields();

// Null if there is no such field.
const ResultField* FindResultField(std::string_view name);

// "ok", "failed" or "unsupported"; empty if unspecified.
std::string OutcomeName(v1::CaseOutcome outcome);

// Splits a case into one result per metric, each a copy of the case with that one measurement. A
// case without measurements gives one result. Sets `case_result` and `primary`, nothing else.
std::vector<v1::StoredResult> SplitByMetric(const v1::CaseResult& result);

// One line of JSON: a nested object with the fields that have a value. This is the only JSON of a
// result; every program that prints one prints this.
std::string ResultJson(const v1::StoredResult& result);

// The names and the texts of the fields that CSV has, in the same order.
std::vector<std::string> ResultCsvColumns();
std::vector<std::string> ResultCsvTexts(const v1::StoredResult& result);

}  // namespace assay::schema
