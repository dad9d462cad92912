// Finds results by an index. A filter first becomes keys of small tables: series, origins and
// campaigns. The newest results of each key are read from an index, and everything else in the
// filter is checked on those. So a query reads few rows, regardless of the size of `result`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "storage/postgres/filter_to_sql.h"
#include "storage/postgres/pqxx.h"

namespace assay::storage {

// A place in the order of results by (ts, sequence). `ts` is text that PostgreSQL can read.
struct RowPosition {
  std::string ts;
  int64_t sequence = 0;
};

// Before and after all results.
inline const RowPosition kFirstPosition{"-infinity", -1};
inline const RowPosition kLastPosition{"infinity", INT64_MAX};

// Keys of one of the small tables.
struct ScanKeys {
  bool restricted = false;  // If false, `keys` is empty and the scan may return any key.
  std::vector<std::string> keys;
};

// How a query finds its results.
struct ResultScan {
  enum class Path { kNewest, kSeries, kOrigin, kCampaign };
  // The index. kNewest reads the newest results of all keys.
  Path path = Path::kNewest;
  ScanKeys series;
  ScanKeys origins;
  ScanKeys campaigns;
  std::vector<std::string> excluded_origins;
  // The rest of the filter.
  SqlCondition condition;
  // True if the index may contain many more results than match.
  bool selective = false;
  // Only results between these two, neither of which is returned.
  RowPosition before = kLastPosition;
  RowPosition after = kFirstPosition;
};

// Decides how to find the results that match `filter`. Returns nullopt if none can match, because
// no series, origin or campaign does.
Result<std::optional<ResultScan>> PlanScan(Transaction& transaction, const Filter& filter);

// Sets scan.after so that the scan reads at most about `most` results, the newest ones. Returns
// true if there are more.
bool LimitScan(Transaction& transaction, ResultScan& scan, int64_t most);

// Return a SELECT of `columns` for RunScan. `columns` refers to ResultsFrom(scan.condition.tables).
// PageSql returns the newest rows, newest first, at most as many as RunScan's `limit`. RowsSql
// returns all rows, in any order.
std::string PageSql(const ResultScan& scan, const std::string& columns);
std::string RowsSql(const ResultScan& scan, const std::string& columns);

// Runs a statement that contains PageSql or RowsSql. `with` holds additional common table
// expressions, separated by commas. Binds $1 to scan.condition.values, $2 to the keys of the series
// and $10 to `limit`.
pqxx::result RunScan(Transaction& transaction, const ResultScan& scan, const std::string& with,
                     const std::string& select, int64_t limit);

}  // namespace assay::storage
