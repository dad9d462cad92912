// Finds results by an index. Conditions on series, origins (nodes and GPUs) and campaigns are first
// evaluated on three small tables, which yields lists of keys. An index then finds the newest
// results of each key, and only these are checked against the rest of the filter. A query thus
// reads few rows, regardless of the size of the table `result`.
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

// Positions before and after all results.
inline const RowPosition kFirstPosition{"-infinity", -1};
inline const RowPosition kLastPosition{"infinity", INT64_MAX};

// The keys of series, origins or campaigns that match a filter.
struct ScanKeys {
  bool restricted = false;  // If false, `keys` is empty and the scan may return any key.
  std::vector<std::string> keys;
};

// A plan of how a query finds its results.
struct ResultScan {
  enum class Path { kNewest, kSeries, kOrigin, kCampaign };
  // The index to search. kNewest reads the newest results of all keys.
  Path path = Path::kNewest;
  ScanKeys series;
  ScanKeys origins;
  ScanKeys campaigns;
  std::vector<std::string> excluded_origins;
  // The rest of the filter.
  SqlCondition condition;
  // True if the index may contain many more results than match.
  bool selective = false;
  // The scan returns only results strictly between these two positions.
  RowPosition before = kLastPosition;
  RowPosition after = kFirstPosition;
};

// Decides how to find the results that match `filter`. Returns nullopt if no result can match,
// because no series, origin or campaign does.
Result<std::optional<ResultScan>> PlanScan(Transaction& transaction, const Filter& filter);

// Limits a scan to about its newest `most` results, by setting scan.after. Returns whether this
// excludes any older results.
bool LimitScan(Transaction& transaction, ResultScan& scan, int64_t most);

// Return the SELECT statement of a scan, for use in RunScan. `columns` may refer to the tables of
// ResultsFrom(scan.condition.tables). PageSql selects at most RunScan's `limit` rows, newest first.
// RowsSql selects all rows, in any order.
std::string PageSql(const ResultScan& scan, const std::string& columns);
std::string RowsSql(const ResultScan& scan, const std::string& columns);

// Runs a statement that contains PageSql or RowsSql. `with` holds additional common table
// expressions, separated by commas. Binds $1 to scan.condition.values, $2 to the series keys and
// $10 to `limit`.
pqxx::result RunScan(Transaction& transaction, const ResultScan& scan, const std::string& with,
                     const std::string& select, int64_t limit);

}  // namespace assay::storage
