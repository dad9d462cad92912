// Rows of campaign and job as messages and records.
#pragma once

#include <string>

#include "storage/postgres/pqxx.h"
#include "storage/types.h"

namespace assay::storage {

// "SELECT " + CampaignColumns() + " FROM campaign c ..." for CampaignOf.
std::string CampaignColumns();
v1::Campaign CampaignOf(const pqxx::row& row);

// Of "job j"; JobOf.
std::string JobColumns();
v1::Job JobOf(const pqxx::row& row);

// Of "job j" too; LeasedOf.
std::string LeasedColumns();
LeasedJob LeasedOf(const pqxx::row& row);

}  // namespace assay::storage
