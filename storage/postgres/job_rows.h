// Reads campaigns and jobs, and claims queued jobs.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/mutex.h"
#include "storage/job_store.h"
#include "storage/postgres/pqxx.h"

namespace assay::storage {

// "SELECT " + CampaignColumns() + " FROM campaign c ..." selects rows for CampaignOf.
std::string CampaignColumns();
v1::Campaign CampaignOf(const pqxx::row& row);

// Selects jobs "j" of campaign $1 for JobOf. Append " AND ..." to narrow it.
std::string JobsOfCampaign();
v1::Job JobOf(const pqxx::row& row);

// The lists of nodes that jobs with a choice of nodes share. Caches rows of candidate_set, which
// never change, while a job in memory refers to them. Thread-safe.
class CandidateSets {
 public:
  // Returns the candidates of each of `rows`, which need the columns campaign_id, candidate_set and
  // candidate_node_ids of table job. Throws exceptions of pqxx.
  std::vector<NodeIds> Of(Transaction& transaction, const pqxx::result& rows);

 private:
  using Key = std::pair<std::string, int>;  // Campaign and number.
  using Sets = std::map<Key, NodeIds>;

  Sets KeptOf(const std::vector<Key>& keys);
  void Keep(const Sets& sets);

  Mutex mutex_;
  Sets kept_ ASSAY_GUARDED_BY(mutex_);
};

// "SELECT " + LeasedColumns() + " FROM job j ..." selects rows for LeasedJobsOf.
std::string LeasedColumns();
std::vector<LeasedJob> LeasedJobsOf(Transaction& transaction, const pqxx::result& rows,
                                    CandidateSets& sets);

// Leases jobs, see JobStore::ClaimJobs. Reads candidates without locks, chooses jobs and nodes,
// locks these nodes in id order and leases the jobs whose nodes are still free. Skips nodes that
// another claimer has locked, so that claimers do not wait for each other.
std::vector<LeasedJob> ClaimJobs(Transaction& transaction, const JobStore::ClaimRequest& request,
                                 CandidateSets& sets);

}  // namespace assay::storage
