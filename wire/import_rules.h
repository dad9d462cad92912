// Validation rules for imported results, which were measured by another program. The command-line
// tool applies them before it displays or sends such results, and the coordinator applies them
// again before storing the results.
#pragma once

#include "assay/v1/result_service.pb.h"
#include "common/clock.h"
#include "common/status.h"

namespace assay::schema {

// The maximum number of results of one import.
inline constexpr int kMaxImportedResults = 10'000;

// Checks a request to import results. Texts must not be too long or contain control characters,
// numbers must be finite, and times must be between 1970 and five minutes after `now`. Returns
// INVALID_ARGUMENT with reason BAD_IMPORT and one violation per error, which gives the path of the
// field in the request.
Status CheckImport(const v1::ImportResultsRequest& request, WallTime now);

}  // namespace assay::schema
