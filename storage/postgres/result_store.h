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

  // A result that the database refuses, such as a text that is not UTF-8, is a kConflict. The other
  // results are stored.
  Result<std::vector<CommitOutcome>> Commit(const std::vector<v1::CaseResult>& results) override;
  Result<ImportOutcome> Import(const ImportedCampaign& imported) override;
  Result<Page<v1::StoredResult>> List(const std::string& filter, const PageRequest& page) override;
  Result<v1::StoredResult> Get(const std::string& result_id) override;
  Result<std::vector<v1::CaseResult>> ListOfJob(const std::string& job_id) override;
  Result<std::vector<v1::StoredResult>> ListOfCampaign(const std::string& campaign_id) override;

 private:
  struct Batch;

  // At most one result per case.
  Result<std::vector<CommitOutcome>> CommitBatch(const std::vector<const v1::CaseResult*>& results);
  // Stores the batch's new series and environments and sets the keys of its rows.
  Status ResolveSeries(Batch& batch);
  // Stores the batch and sets its outcomes.
  static Status Insert(pqxx::transaction_base& transaction, Batch& batch);
  // Creates the partitions of this month and the next ones.
  Status CreatePartitions();

  Pool& pool_;
  Mutex mutex_;
  // Keys of series by id. Cleared when it grows large.
  std::unordered_map<std::string, int64_t> series_keys_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace assay::storage
