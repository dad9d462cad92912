// From results that were measured elsewhere, as a caller sent them, to the campaign that
// is stored: every fault found, or the whole.
#pragma once

#include "assay/v1/result_service.pb.h"
#include "common/status.h"
#include "storage/types.h"

namespace assay::coordinator {

// Results of one import.
inline constexpr int kMaxImportedResults = 10'000;

// A job a benchmark, with all its results as cases. Only what ImportResultsRequest names
// is kept, and all of it is in bounds: plain texts, finite numbers. INVALID_ARGUMENT has
// one violation a fault.
Result<storage::ImportedCampaign> ToImportedCampaign(const v1::ImportResultsRequest& request);

}  // namespace assay::coordinator
