// Lists, sorts and groups stored results, and lists values of their fields.
#pragma once

#include <string>

#include "common/status.h"
#include "storage/postgres/pool.h"
#include "storage/postgres/result_scan.h"
#include "storage/result_store.h"

namespace assay::storage {

// Implement ResultStore.
Result<ResultPage> ListResults(Pool& pool, const std::string& filter, const PageRequest& request,
                               const std::string& order);
Result<v1::GroupResultsResponse> GroupResults(Pool& pool, const v1::GroupResultsRequest& request);
Result<FieldValues> ListValues(Pool& pool, const std::string& field, int limit, bool simulated);

// Returns the error of a query that would examine too many results. `what` says why.
Status TooManyResults(const std::string& what);

// Reads the results at these positions, in the same order.
pqxx::result ReadResults(Transaction& transaction, const std::vector<RowPosition>& positions);

}  // namespace assay::storage
