// Converts rows of campaign and job to messages and records.
#pragma once

#include <string>
#include <vector>

#include "storage/postgres/candidate_sets.h"
#include "storage/postgres/pqxx.h"
#include "storage/types.h"

namespace assay::storage {

// "SELECT " + CampaignColumns() + " FROM campaign c ..." selects rows for CampaignOf.
std::string CampaignColumns();
v1::Campaign CampaignOf(const pqxx::row& row);

// Selects jobs "j" of campaign $1 for JobOf. Append " AND ..." to narrow it.
std::string JobsOfCampaign();
v1::Job JobOf(const pqxx::row& row);

// "SELECT " + LeasedColumns() + " FROM job j ..." selects rows for LeasedJobsOf.
std::string LeasedColumns();
std::vector<LeasedJob> LeasedJobsOf(pqxx::transaction_base& transaction, const pqxx::result& rows,
                                    CandidateSets& sets);

}  // namespace assay::storage
