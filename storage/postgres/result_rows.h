// Results and their series as JSON rows, for statements that take many at once; and stored rows as
// messages.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "assay/v1/result_service.pb.h"
#include "storage/identity.h"
#include "storage/postgres/pqxx.h"
#include "wire/field.h"

namespace assay::storage {

// One metric of one case, to be stored.
struct ResultToStore {
  v1::StoredResult result;
  Identity identity;
  int64_t series_key = 0;
};

// The fields that a table stores, as the columns of an INSERT or a SELECT: `"benchmark", "unit"`.
// `prefix` goes before each name: "v.".
std::string FieldColumns(schema::StoredIn table, const std::string& prefix = "");

// Rows of case_result, with epoch and position.
nlohmann::json CaseRow(const v1::CaseResult& result, size_t position);
// Rows of result, series and environment.
nlohmann::json ResultRow(const ResultToStore& row, const std::string& result_id);
nlohmann::json SeriesRow(const ResultToStore& row);
nlohmann::json EnvironmentRow(const ResultToStore& row);
// A row of sample; null if there are no samples.
nlohmann::json SampleRow(const ResultToStore& row, const std::string& result_id);

// "SELECT " + StoredColumns() + StoredTables() selects rows for StoredResultOf. The tables are
// result_view AS v and case_result AS d.
std::string StoredColumns();
std::string StoredTables();
v1::StoredResult StoredResultOf(const pqxx::row& row);

}  // namespace assay::storage
