// Makes a campaign of results that another program measured.
#pragma once

#include "assay/v1/result_service.pb.h"
#include "common/clock.h"
#include "common/status.h"
#include "storage/types.h"

namespace assay::coordinator {

// Returns a campaign with one job per benchmark and one case per result. Fields that
// ImportResultsRequest does not list are dropped. Errors as schema::CheckImport.
Result<storage::ImportedCampaign> ToImportedCampaign(const v1::ImportResultsRequest& request,
                                                     WallTime now);

}  // namespace assay::coordinator
