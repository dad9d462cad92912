// Inserts results, with the checks that ensure that each result is stored exactly once.
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
};

// Stores a batch of results and sets its outcomes. Stores nothing for a rejected result. Locks the
// jobs until the end of the transaction.
// If a row lacks the keys of its series and origin, also stores the series, environment and origin,
// and sets the keys. The keys become invalid if the transaction is rolled back.
Status Insert(Transaction& transaction, Batch& batch);

}  // namespace assay::storage
