// Converts results to database rows for bulk inserts, and builds messages from stored rows.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "assay/v1/result_service.pb.h"
#include "common/status.h"
#include "storage/identity.h"
#include "storage/postgres/pqxx.h"
#include "storage/postgres/sql.h"
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

// Returns the columns of `table` that contain result fields, as a list for an INSERT or SELECT such
// as `"benchmark", "unit"`. Each name is preceded by `prefix`, such as "v.".
std::string FieldColumns(schema::StoredIn table, const std::string& prefix = "");

// A column that contains a result field.
struct Column {
  std::string name;
  std::string type;       // Of the elements of the array that is bound to a statement.
  std::string cast = "";  // What converts an element to the column's type: "::text[]".
};
std::vector<Column> FieldTypes(schema::StoredIn table);
// Adds the values of these columns to consecutive arrays.
void AddFields(schema::StoredIn table, const v1::StoredResult& result, ArrayLiteral* columns);

// Returns the column `payload` of case_result.
std::string PayloadOf(const v1::CaseResult& result);
// Adds the column `measurement` of result.
void AddMeasurement(const v1::CaseResult& result, ArrayLiteral& column);
// Rows of series and environment.
nlohmann::json SeriesRow(const ResultToStore& row);
nlohmann::json EnvironmentRow(const ResultToStore& row);

// Return the parts of a query for results in the form that StoredResultOf reads:
//   "SELECT " + StoredColumns() + StoredTables()
//
// The caller may append a WHERE clause on the tables v (result_view) and d (case_result).
std::string StoredColumns();
std::string StoredTables();
v1::StoredResult StoredResultOf(const pqxx::row& row);

// Converts samples to the bytes that are stored: float64, little-endian, compressed with zstd.
std::string CompressSamples(const google::protobuf::RepeatedField<double>& samples);

// Returns DATA_LOSS if `bytes` does not contain exactly `count` compressed samples.
Status DecompressSamples(std::string_view bytes, int count,
                         google::protobuf::RepeatedField<double>* samples);

}  // namespace assay::storage
