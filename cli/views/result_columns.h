// Tables, CSV and JSON of chosen fields of results.
#pragma once

#include <string>
#include <vector>

#include "cli/views/table.h"
#include "common/status.h"
#include "wire/result_fields.h"

namespace assay::cli {

// A field of results, or one member of a field that is a map, such as parameters.dtype.
struct ResultColumn {
  std::string name;
  const schema::ResultField* field = nullptr;
  // The name of the member; empty for the whole field.
  std::string member;

  schema::FieldValue Value(const v1::StoredResult& result) const;
};

// Parses a comma-separated list of column names, such as "node,parameters.m,median". If a name is
// unknown, the error suggests a similar one.
Result<std::vector<ResultColumn>> ParseResultColumns(const std::string& names);

// Formats results with only these columns. The table rounds numbers to five digits.
std::string ColumnsTable(const std::vector<v1::StoredResult>& results,
                         const std::vector<ResultColumn>& columns, const Style& style);
std::string ColumnsCsv(const std::vector<v1::StoredResult>& results,
                       const std::vector<ResultColumn>& columns);
std::string ColumnsJson(const std::vector<v1::StoredResult>& results,
                        const std::vector<ResultColumn>& columns);

// Returns the value for a table.
std::string TableText(const schema::FieldValue& value);

// Returns the header of a field in a table: "FAILURE REASON" for failure_reason.
std::string TableHeader(std::string_view field);

}  // namespace assay::cli
