// Results. They are accepted for the current epoch of their job only, and never change.
// Contract: tests/contract/result_store_contract.h.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"
#include "storage/types.h"

namespace assay::storage {

enum class CommitVerdict {
  kStored,    // Stored by this call, or earlier with the same content.
  kStale,     // The job does not run under this epoch. Nothing was stored.
  kConflict,  // The case has another result. Nothing was stored.
};

struct CommitOutcome {
  CommitVerdict verdict = CommitVerdict::kStale;
  // True if this call stored it, false for a replay.
  bool fresh = false;
};

struct ImportOutcome {
  std::string campaign_id;
  // False: the request_id is known as this campaign, and nothing was stored.
  bool fresh = false;
};

// Thread-safe; blocks as JobStore does.
class ResultStore {
 public:
  virtual ~ResultStore() = default;

  // Stores each result whose job is RUNNING under its epoch, one row per metric, in one statement,
  // and increments the job's cases_done. Returns outcomes in the order given. A case has one
  // result, regardless of the epoch that produced it.
  virtual Result<std::vector<CommitOutcome>> Commit(const std::vector<v1::CaseResult>& results) = 0;

  // Stores an ended campaign with its jobs and results in one transaction, or nothing. A job with a
  // failed case is FAILED, and so is the campaign's verdict. INVALID_ARGUMENT if a case has no
  // result, two results, or one that cannot be stored; ALREADY_EXISTS if the campaign's id is
  // taken.
  virtual Result<ImportOutcome> Import(const ImportedCampaign& imported) = 0;

  // Returns matching results without samples, newest first. For `filter` and its errors see
  // schema::ParseResultFilter.
  virtual Result<Page<v1::StoredResult>> List(const std::string& filter,
                                              const PageRequest& page) = 0;

  // Returns the result with its samples. NOT_FOUND.
  virtual Result<v1::StoredResult> Get(const std::string& result_id) = 0;

  // Returns the results of a job without measurements, one per case, in the order of cases.
  virtual Result<std::vector<v1::CaseResult>> ListOfJob(const std::string& job_id) = 0;

  // Returns all results of a campaign, without samples, oldest first.
  virtual Result<std::vector<v1::StoredResult>> ListOfCampaign(const std::string& campaign_id) = 0;
};

}  // namespace assay::storage
