// Converts results to and from database rows: builds the JSON for bulk inserts, builds messages
// from stored rows, and translates filters over results to SQL.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "assay/v1/result_service.pb.h"
#include "common/status.h"
#include "model/filter.h"
#include "storage/identity.h"
#include "storage/postgres/pqxx.h"
#include "wire/field.h"

namespace assay::storage {

// A row of `origin`: where results come from.
struct Origin {
  std::string id;
  nlohmann::json row;
};
Origin OriginOf(const v1::StoredResult& result);

// One metric of one case, to be stored.
struct ResultToStore {
  v1::StoredResult result;
  Identity identity;
  int64_t series_key = 0;
  // Shared by the rows of a case.
  std::shared_ptr<const Origin> origin;
  int64_t origin_key = 0;
};

// Returns a list of the columns of `table` that contain result fields, for an INSERT or SELECT:
// `"benchmark", "unit"`. Each name is preceded by `prefix`, such as "v.".
std::string FieldColumns(schema::StoredIn table, const std::string& prefix = "");

// Rows of case_result, with epoch and position. `hash` is PayloadHash of what the agent sent.
nlohmann::json CaseRow(const v1::CaseResult& result, const std::string& hash, size_t position);
// Rows of result, series and environment.
nlohmann::json ResultRow(const ResultToStore& row, const std::string& result_id);
nlohmann::json SeriesRow(const ResultToStore& row);
nlohmann::json EnvironmentRow(const ResultToStore& row);
// A row of sample; null if there are no samples.
nlohmann::json SampleRow(const ResultToStore& row, const std::string& result_id);

// These two functions return the parts of a query whose rows StoredResultOf can read:
//   "SELECT " + StoredColumns() + StoredTables()
// An added WHERE clause can refer to the tables as v (result_view) and d (case_result).
std::string StoredColumns();
std::string StoredTables();
v1::StoredResult StoredResultOf(const pqxx::row& row);

// Converts samples to the bytes that are stored: float64, little-endian, compressed with zstd.
std::string CompressSamples(const google::protobuf::RepeatedField<double>& samples);

// Returns DATA_LOSS if `bytes` does not contain exactly `count` compressed samples.
Status DecompressSamples(std::string_view bytes, int count,
                         google::protobuf::RepeatedField<double>* samples);

// An SQL condition that is equivalent to a result filter. It refers to the table "result_view v".
// To prevent SQL injection, `text` contains nothing that the user wrote. The user's texts are in
// `values`, which must be bound to the parameter $1 as a text array.
struct SqlCondition {
  std::string text;
  std::vector<std::string> values;
};

// Splits a filter into the conditions that depend only on the series of a result, which a query
// answers first, and all others. Together they are equivalent to the filter.
struct SplitFilter {
  Filter of_series;
  Filter others;
};
SplitFilter SplitBySeries(const Filter& filter);

// Returns a FROM item named v with the columns of result_view that depend only on the series.
std::string SeriesView();

// Translates a filter from ParseResultFilter. Returns INVALID_ARGUMENT for unknown fields.
Result<SqlCondition> FilterToSql(const Filter& filter);

}  // namespace assay::storage
