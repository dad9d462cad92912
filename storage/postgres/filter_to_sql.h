// Translates filters over results to SQL.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"
#include "model/filter.h"

namespace assay::storage {

// A condition over "result_view v" that is true exactly for the results that MatchesResult matches.
// Every text that comes from the user is in `values`, which are bound as the elements of the text
// array $1. The condition itself contains none.
struct SqlCondition {
  std::string text;
  std::vector<std::string> values;
};

// Translates a filter that ParseResultFilter made. INVALID_ARGUMENT for unknown fields.
Result<SqlCondition> FilterToSql(const Filter& filter);

}  // namespace assay::storage
