// Inserts results, with the checks that make ingest exactly-once.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"
#include "storage/postgres/pqxx.h"
#include "storage/postgres/result_rows.h"
#include "storage/result_store.h"

namespace assay::storage {

// Results to be stored, one per case, and their rows, one per metric.
struct Batch {
  std::vector<const SentResult*> results;
  std::vector<ResultToStore> rows;
  std::vector<size_t> position_of_row;  // The row's result in `results`.
  std::vector<CommitOutcome> outcomes;

  explicit Batch(std::vector<const SentResult*> the_results);

  // Rows of case_result, as JSON.
  Result<std::string> CaseRows() const;
};

// Stores the rows' series, environments and origins if they are new, and sets the rows' keys.
Status ResolveKeys(Transaction& transaction, const std::vector<ResultToStore*>& rows);

// Stores the batch and sets its outcomes. Rows without series_key belong to results that cannot be
// stored.
Status Insert(Transaction& transaction, Batch& batch);

// Stores the batch, with the series and environments of those results that can be stored.
Status InsertWithSeries(Transaction& transaction, Batch& batch);

}  // namespace assay::storage
