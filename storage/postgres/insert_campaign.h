// Stores campaigns and their jobs.
#pragma once

#include <string>

#include "common/status.h"
#include "storage/postgres/pqxx.h"
#include "storage/types.h"

namespace assay::storage {

// Stores the campaign and its jobs, and returns its id. If the request_id is known, stores nothing
// and returns the id of its campaign. ALREADY_EXISTS if campaign_id is taken.
Result<std::string> InsertCampaign(Transaction& transaction, const NewCampaign& campaign);

}  // namespace assay::storage
