// Stores benchmark results. A result is accepted only from the current attempt (epoch) of its job
// and never changes afterwards. Implementations must pass tests/contract/result_store_contract.h.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"
#include "storage/types.h"

namespace assay::storage {

enum class CommitVerdict {
  kStored,      // Stored by this call, or earlier with the same content.
  kStale,       // A newer attempt has begun, or the job has ended otherwise. Nothing was stored.
  kConflict,    // The case has another result. Nothing was stored.
  kUnknownJob,  // The job or this attempt of it does not exist. Nothing was stored.
};

struct CommitOutcome {
  CommitVerdict verdict = CommitVerdict::kStale;
  // True if this call stored the result. False if the result had been stored before.
  bool fresh = false;
};

// A result of an agent.
struct SentResult {
  // The agent's message, completed by the coordinator. This is stored.
  v1::CaseResult result;
  // PayloadHash of what the agent sent, by which a replay is known.
  std::string hash;
};

struct ImportOutcome {
  std::string campaign_id;
  // False if a campaign with this request_id already exists, in which case nothing was stored.
  bool fresh = false;
};

// Stores results. Thread-safe. Calls block on the database.
class ResultStore {
 public:
  virtual ~ResultStore() = default;

  // Stores results and adds the number of new cases to each job's cases_done. Each result must come
  // from the latest epoch of a job. The job may be RUNNING, or its attempt may have FAILED or been
  // requeued meanwhile, in which case the result is late. There is at most one result per case,
  // regardless of the epoch. All metrics of a result are stored atomically. A refused result leaves
  // nothing behind, not even its series. Returns one outcome per result, in the same order.
  virtual Result<std::vector<CommitOutcome>> Commit(const std::vector<SentResult>& results) = 0;

  // Returns kStored for each result that is stored with the same content as the agent's,
  // kUnknownJob if the job does not exist, else kStale. Stores nothing.
  virtual Result<std::vector<CommitOutcome>> Compare(
      const std::vector<v1::CaseResult>& results) = 0;

  // Stores a finished campaign that another program measured, with its jobs and results, in one
  // transaction. Jobs with a failed case become FAILED, and so does the campaign. Returns
  // INVALID_ARGUMENT if a case does not have exactly one result or if a result cannot be stored.
  // Returns ALREADY_EXISTS if the campaign's id is taken.
  virtual Result<ImportOutcome> Import(const ImportedCampaign& imported) = 0;

  // Returns the results that match `filter`, newest first and without samples. See
  // schema::ParseResultFilter for the syntax of filters and the possible errors.
  virtual Result<Page<v1::StoredResult>> List(const std::string& filter,
                                              const PageRequest& page) = 0;

  // Returns the result with its samples, or NOT_FOUND.
  virtual Result<v1::StoredResult> Get(const std::string& result_id) = 0;

  // Returns the results of a job without measurements, one per case, in the order of cases.
  virtual Result<std::vector<v1::CaseResult>> ListOfJob(const std::string& job_id) = 0;

  // Returns all results of a campaign, without samples, oldest first.
  virtual Result<std::vector<v1::StoredResult>> ListOfCampaign(const std::string& campaign_id) = 0;
};

}  // namespace assay::storage
