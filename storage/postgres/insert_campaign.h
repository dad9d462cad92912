// Stores campaigns and their jobs.
#pragma once

#include <string>

#include "common/status.h"
#include "storage/postgres/pqxx.h"
#include "storage/types.h"

namespace assay::storage {

// Inserts the campaign and its jobs, and returns the campaign's id. If a campaign with the same
// request_id already exists, returns its id and inserts nothing. Returns ALREADY_EXISTS if another
// campaign has the same campaign_id.
Result<std::string> InsertCampaign(Transaction& transaction, const NewCampaign& campaign);

}  // namespace assay::storage
