// Stores benchmark results. A result is accepted only from the current attempt (epoch) of its job
// and is immutable once stored. Implementations must pass tests/contract/result_store_contract.h.
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

// A result that an agent has sent.
struct SentResult {
  // The message from the agent, to which the coordinator has added fields. This message is stored.
  v1::CaseResult result;
  // The PayloadHash of the agent's original message. If the agent sends the result again, the hash
  // is the same.
  std::string hash;
};

struct ImportOutcome {
  std::string campaign_id;
  // False if a campaign with this request_id already exists, in which case nothing was stored.
  bool fresh = false;
};

// A query examines at most this many results. See ResultStore::List.
inline constexpr int kMaxExaminedResults = 200'000;
inline constexpr int kMaxCountedResults = 10'000;

// Distinct values of a field, sorted.
struct FieldValues {
  std::vector<std::string> values;
  bool truncated = false;  // There are more.
};

struct ResultPage : Page<v1::StoredResult> {
  int remaining = 0;  // Number of results after this page. At most kMaxCountedResults are counted.
};

// A store of results. Thread-safe. Calls block on the database.
class ResultStore {
 public:
  virtual ~ResultStore() = default;

  // Stores results and adds the number of new cases to each job's cases_done. Accepts only results
  // from the latest attempt (epoch) of a job that is RUNNING, or that has FAILED or been requeued
  // since. Each case has at most one result across all attempts. Stores all metrics of a result
  // atomically, and nothing of a rejected result. Returns one outcome per result, in the same
  // order.
  virtual Result<std::vector<CommitOutcome>> Commit(const std::vector<SentResult>& results) = 0;

  // Compares results with the stored ones, without storing anything. Returns one outcome per
  // result: kStored if the stored result has the same content, kUnknownJob if the job or the
  // attempt does not exist, and kStale otherwise.
  virtual Result<std::vector<CommitOutcome>> Compare(
      const std::vector<v1::CaseResult>& results) = 0;

  // Stores a finished campaign that was measured by another program, with its jobs and results, in
  // one transaction. If a case failed, its job and the campaign become FAILED. Returns
  // INVALID_ARGUMENT unless each case has exactly one result and all results can be stored. Returns
  // ALREADY_EXISTS if another campaign has the same id.
  virtual Result<ImportOutcome> Import(const ImportedCampaign& imported) = 0;

  // Returns the results that match `filter`, without samples, sorted by `order` or newest first.
  // See schema::ParseResultFilter and ParseResultOrder for the syntax and possible errors.
  // Conditions on the benchmark, parameters, hardware, software, campaign, job, node, GPU and time
  // are fast, because they use database indexes. All other conditions are checked only for the
  // newest kMaxExaminedResults results that an index finds. Returns INVALID_ARGUMENT with reason
  // TOO_MANY_RESULTS if filling the page would require checking or sorting more results.
  virtual Result<ResultPage> List(const std::string& filter, const PageRequest& page,
                                  const std::string& order) = 0;
  Result<ResultPage> List(const std::string& filter, const PageRequest& page) {
    return List(filter, page, "");
  }

  // Groups and summarizes the results that match the request (see GroupResultsRequest). Returns
  // INVALID_ARGUMENT with reason TOO_MANY_RESULTS if more than kMaxExaminedResults match.
  virtual Result<v1::GroupResultsResponse> Group(const v1::GroupResultsRequest& request) = 0;

  // Returns up to `limit` distinct values of a field that CheckListedField accepts, truncated to
  // 200 characters and sorted byte by byte. Considers only simulated results if `simulated`, and
  // only real ones otherwise. The call is fast, because it reads only small tables and at most one
  // result for each of their rows.
  virtual Result<FieldValues> ListValues(const std::string& field, int limit, bool simulated) = 0;

  // Returns the result with its samples, or NOT_FOUND.
  virtual Result<v1::StoredResult> Get(const std::string& result_id) = 0;

  // Returns the results of a job without measurements, one per case, in the order of cases.
  virtual Result<std::vector<v1::CaseResult>> ListOfJob(const std::string& job_id) = 0;

  // Returns all results of a campaign, without samples, oldest first.
  virtual Result<std::vector<v1::StoredResult>> ListOfCampaign(const std::string& campaign_id) = 0;
};

}  // namespace assay::storage
