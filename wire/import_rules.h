// Validation rules for results that were measured by another program. The command line applies them
// before it displays or sends the results, and the coordinator applies them before it stores the
// results.
#pragma once

#include "assay/v1/result_service.pb.h"
#include "common/clock.h"
#include "common/status.h"

namespace assay::schema {

// The maximum number of results of one import.
inline constexpr int kMaxImportedResults = 10'000;

// Checks a request to import results. Texts must be limited in length and contain no control
// characters, numbers must be finite, and times must be between 1970 and `now`, with a tolerance of
// five minutes. Returns INVALID_ARGUMENT with reason BAD_IMPORT and one violation per error, which
// gives the field's path in the request.
Status CheckImport(const v1::ImportResultsRequest& request, WallTime now);

}  // namespace assay::schema
