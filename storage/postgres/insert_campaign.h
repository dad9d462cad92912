// Campaigns and their jobs on their way into the database.
#pragma once

#include <string>

#include "common/status.h"
#include "storage/postgres/pqxx.h"
#include "storage/types.h"

namespace assay::storage {

// Stores the campaign and its jobs, and returns its id; or, if its request_id was seen
// before, stores nothing and returns the id of the campaign made then. ALREADY_EXISTS if
// campaign_id is taken.
Result<std::string> InsertCampaign(pqxx::transaction_base& transaction,
                                   const NewCampaign& campaign);

}  // namespace assay::storage
