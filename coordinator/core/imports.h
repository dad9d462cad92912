// From results that were measured elsewhere, as a caller sent them, to the campaign that
// is stored: every fault found, or the whole.
#pragma once

#include "assay/v1/result_service.pb.h"
#include "common/clock.h"
#include "common/status.h"
#include "storage/types.h"

namespace assay::coordinator {

// A job a benchmark, with all its results as cases. Only what ImportResultsRequest names
// is kept, and all of it is in bounds as CheckImport says at the time `now`.
Result<storage::ImportedCampaign> ToImportedCampaign(const v1::ImportResultsRequest& request,
                                                     WallTime now);

}  // namespace assay::coordinator
