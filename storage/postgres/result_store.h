// ResultStore in PostgreSQL.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "common/mutex.h"
#include "storage/postgres/pool.h"
#include "storage/result_store.h"

namespace assay::storage {

class PostgresResultStore : public ResultStore {
 public:
  explicit PostgresResultStore(Pool& pool) : pool_(pool) {}

  // A result that the database refuses (a text that is not UTF-8, say) is kConflict,
  // and those beside it are stored all the same.
  Result<std::vector<CommitOutcome>> Commit(const std::vector<v1::CaseResult>& results) override;
  Result<ImportOutcome> Import(const ImportedCampaign& imported) override;
  Result<Page<v1::StoredResult>> List(const std::string& filter, const PageRequest& page) override;
  Result<v1::StoredResult> Get(const std::string& result_id) override;
  Result<std::vector<v1::StoredResult>> ListOfCampaign(const std::string& campaign_id) override;

 private:
  struct Batch;

  // One result a case.
  Result<std::vector<CommitOutcome>> CommitBatch(const std::vector<const v1::CaseResult*>& results);
  // Makes the batch's series and environments known, and fills in their keys.
  Status ResolveSeries(Batch& batch);
  // Fences and stores, and fills in the batch's outcomes.
  static Status Insert(pqxx::transaction_base& transaction, Batch& batch);
  // Of this month and the next ones.
  Status CreatePartitions();

  Pool& pool_;
  Mutex mutex_;
  // Keys of series by id; emptied when it grows large.
  std::unordered_map<std::string, int64_t> series_keys_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace assay::storage
