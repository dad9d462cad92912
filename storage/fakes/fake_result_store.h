// ResultStore in memory, for tests.
#pragma once

#include <string>
#include <vector>

#include "storage/fakes/fake_database.h"
#include "storage/result_store.h"

namespace assay::storage {

// Passes tests/contract/result_store_contract.h.
class FakeResultStore : public ResultStore {
 public:
  explicit FakeResultStore(FakeDatabase& database) : database_(database) {}

  Result<std::vector<CommitOutcome>> Commit(const std::vector<v1::CaseResult>& results) override;
  Result<ImportOutcome> Import(const ImportedCampaign& imported) override;
  Result<Page<v1::StoredResult>> List(const std::string& filter, const PageRequest& page) override;
  Result<v1::StoredResult> Get(const std::string& result_id) override;
  Result<std::vector<v1::CaseResult>> ListOfJob(const std::string& job_id) override;
  Result<std::vector<v1::StoredResult>> ListOfCampaign(const std::string& campaign_id) override;

 private:
  CommitOutcome CommitOne(const v1::CaseResult& result) ASSAY_REQUIRES(database_.mutex);
  void Store(FakeDatabase::JobRow& row, const v1::CaseResult& result)
      ASSAY_REQUIRES(database_.mutex);
  // Stores an ended campaign and its jobs.
  void StoreEnded(const ImportedCampaign& imported) ASSAY_REQUIRES(database_.mutex);

  FakeDatabase& database_;
};

}  // namespace assay::storage
