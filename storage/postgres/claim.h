// Claims queued jobs.
#pragma once

#include <vector>

#include "storage/job_store.h"
#include "storage/postgres/candidate_sets.h"
#include "storage/postgres/pqxx.h"

namespace assay::storage {

// Leases jobs, see JobStore::ClaimJobs. Reads candidates without locks, chooses jobs and nodes,
// locks these nodes in id order and leases the jobs whose nodes are still free. Skips nodes that
// another claimer has locked, so that claimers do not wait for each other.
std::vector<LeasedJob> ClaimJobs(pqxx::transaction_base& transaction,
                                 const JobStore::ClaimRequest& request, CandidateSets& sets);

}  // namespace assay::storage
