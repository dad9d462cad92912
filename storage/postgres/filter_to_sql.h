// Filters over results as conditions in SQL.
#pragma once

#include <string>
#include <vector>

#include "model/filter.h"
#include "common/status.h"

namespace assay::storage {

// A condition over "result r JOIN series s JOIN environment e JOIN campaign c" that
// is true exactly for the results that MatchesResult matches. Every text of the
// user's is in `values`, which are bound as elements of the text array `$1`: the
// condition itself holds none.
struct SqlCondition {
  std::string text;
  std::vector<std::string> values;
};

// `filter` as ParseResultFilter made it; INVALID_ARGUMENT for other fields.
Result<SqlCondition> FilterToSql(const Filter& filter);

}  // namespace assay::storage
