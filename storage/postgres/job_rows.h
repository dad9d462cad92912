// Reads campaigns and jobs, and claims queued jobs.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/mutex.h"
#include "storage/job_store.h"
#include "storage/postgres/pool.h"
#include "storage/postgres/pqxx.h"

namespace assay::storage {

// "SELECT " + CampaignColumns() + " FROM campaign c ..." selects rows for CampaignOf.
std::string CampaignColumns();
v1::Campaign CampaignOf(const pqxx::row& row);

// Returns an SQL statement that selects the jobs of campaign $1 for JobOf. The caller may append
// further conditions on the table "j": " AND ...".
std::string JobsOfCampaign();
v1::Job JobOf(const pqxx::row& row);

// A cache of lists of candidate nodes, which lets the many jobs of a campaign that have the same
// list share one copy. The lists are rows of the table candidate_set, which never change. A list is
// kept as long as any job in memory uses it. Thread-safe.
class CandidateSets {
 public:
  // Returns the candidate nodes of each job in `rows`, which must include job's columns
  // campaign_id, candidate_set and candidate_node_ids. Throws a pqxx exception if the query fails.
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

// Returns an SQL condition that prevents a statement sent by a former scheduler from changing
// anything. The condition is true if the SQL expression `term` is 0 or the election number of the
// current scheduler.
std::string IsTerm(const std::string& term);

// Implements JobStore::FinishAttempt, except that it does not end a campaign whose last job has
// ended. The outcome's campaign_ended is therefore true only if FinishedAttempt::mend has removed
// the campaign's verdict. Sets `open` to true if the job is queued again.
Result<FinishOutcome> FinishAttempt(Pool& pool, const FinishedAttempt& attempt, bool* open);

// Implements JobStore::RerunCampaign.
Status RerunCampaign(Transaction& transaction, const JobStore::RerunRequest& request);

// Implements JobStore::ClaimJobs. First selects jobs and nodes without taking locks. Then locks
// these nodes in order of id and leases the jobs whose nodes are still free. Skips nodes locked by
// another coordinator, so that coordinators do not wait for each other.
std::vector<LeasedJob> ClaimJobs(Transaction& transaction, const JobStore::ClaimRequest& request,
                                 CandidateSets& sets);

}  // namespace assay::storage
