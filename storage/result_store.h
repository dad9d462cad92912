// Results: fenced by job and epoch when they arrive, immutable afterwards.
// Contract: tests/contract/result_store_contract.h.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"
#include "storage/types.h"

namespace assay::storage {

enum class CommitVerdict {
  kStored,    // Now, or before with the same content.
  kStale,     // Job and epoch do not hold: nothing stored.
  kConflict,  // The case has another result already: nothing stored.
};

struct CommitOutcome {
  CommitVerdict verdict = CommitVerdict::kStale;
  // True if this call stored it (false for a replay).
  bool fresh = false;
};

struct ImportOutcome {
  std::string campaign_id;
  // False: the request_id was seen before, as this campaign, and nothing was stored.
  bool fresh = false;
};

// Thread-safe; blocks as JobStore does.
class ResultStore {
 public:
  virtual ~ResultStore() = default;

  // Stores each result whose job is RUNNING under its epoch, one row a metric,
  // in one statement; outcomes in the order given. Counts the case as done on
  // its job. A case has one result for ever, whatever epoch made it.
  virtual Result<std::vector<CommitOutcome>> Commit(const std::vector<v1::CaseResult>& results) = 0;

  // Stores a campaign that has ended, with its jobs and their results, or nothing, in one
  // transaction: nobody sees it before it is whole. A job with a failed case has failed,
  // and with it the campaign's verdict. INVALID_ARGUMENT if a case has no result, two, or
  // one that cannot be stored; ALREADY_EXISTS if the campaign's id is taken.
  virtual Result<ImportOutcome> Import(const ImportedCampaign& imported) = 0;

  // Newest first. `filter` as ListResultsRequest; INVALID_ARGUMENT names an
  // unknown field and lists the known ones. Without samples.
  virtual Result<Page<v1::StoredResult>> List(const std::string& filter,
                                              const PageRequest& page) = 0;

  // With samples. NOT_FOUND.
  virtual Result<v1::StoredResult> Get(const std::string& result_id) = 0;

  // Every result of a campaign, all metrics, without samples, oldest first.
  virtual Result<std::vector<v1::StoredResult>> ListOfCampaign(const std::string& campaign_id) = 0;
};

}  // namespace assay::storage
