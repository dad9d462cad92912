// Claiming: which queued jobs, on which nodes, all in one transaction.
#pragma once

#include <vector>

#include "storage/job_store.h"
#include "storage/postgres/candidate_sets.h"
#include "storage/postgres/pqxx.h"

namespace assay::storage {

// Leases jobs as JobStore::ClaimJobs says. Reads candidates without locks, chooses,
// locks the chosen nodes in id order, and takes what is still free then: claimers
// skip nodes that others hold locked, so none waits for another.
std::vector<LeasedJob> ClaimJobs(pqxx::transaction_base& transaction,
                                 const JobStore::ClaimRequest& request, CandidateSets& sets);

}  // namespace assay::storage
