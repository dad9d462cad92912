// Translates filters over results to SQL.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "model/filter.h"
#include "wire/field.h"

namespace assay::storage {

// The tables, besides `result`, to which expressions refer.
struct JoinedTables {
  bool series = false;  // And its environment.
  bool origin = false;
  bool campaign = false;

  void Add(const JoinedTables& other);
  bool operator==(const JoinedTables&) const = default;
};

// Returns the SQL that joins the table `result` (alias r) with other tables, whose aliases are s
// (series), e (environment), o (origin) and c (campaign).
std::string ResultsFrom(const JoinedTables& tables);

// An SQL condition that is equivalent to a result filter. It is true or false, never NULL, and uses
// the aliases of ResultsFrom. To prevent SQL injection, `text` contains no user input. All user
// input is in `values`, which must be bound to the parameter $1 as a text array.
struct SqlCondition {
  std::string text = "true";
  std::vector<std::string> values;
  JoinedTables tables;
};

// Translates a filter from ParseResultFilter. Returns INVALID_ARGUMENT for unknown fields.
Result<SqlCondition> FilterToSql(const Filter& filter);

// The value of a field as an SQL expression, which is NULL where the field has no value.
struct SqlField {
  schema::FieldType type = schema::FieldType::kText;
  bool of_map = false;  // An entry of a map. Its type is kText.
  std::string expression;
  JoinedTables tables;
};
// Translates a field to SQL. Appends the values used in the SQL expression to `values`, which the
// caller must bind to the parameter $1.
Result<SqlField> FieldToSql(const std::string& name, std::vector<std::string>& values);

// The parts of a filter. A result matches the filter if it matches all parts. Queries evaluate the
// first three on small tables before reading any results.
struct SplitFilter {
  Filter of_series;    // Refers to series and environments only.
  Filter of_origin;    // Refers to origins only.
  Filter of_campaign;  // Refers to campaigns only.
  Filter others;
  // True if imported results are excluded.
  bool measured_only = false;
  // The only jobs whose results can match the filter. Empty if the filter has no condition on the
  // job. `others` also contains the condition.
  std::vector<std::string> jobs;
  // The earliest end time of results that can match the filter, in seconds since 1970. `others`
  // also contains the condition.
  std::optional<double> since;
  // True if `others` contains more than the default condition, which selects the primary metric.
  bool more = false;
};
SplitFilter SplitByTable(const Filter& filter);

}  // namespace assay::storage
