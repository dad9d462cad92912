// Rules for results that another program measured. The coordinator applies them before it stores
// results, and the command line before it sends or shows them.
#pragma once

#include "assay/v1/result_service.pb.h"
#include "common/clock.h"
#include "common/status.h"

namespace assay::schema {

// The maximum number of results of one import.
inline constexpr int kMaxImportedResults = 10'000;

// Checks that all texts of `request` are plain and bounded, numbers are finite, and times lie
// between 1970 and `now`. INVALID_ARGUMENT, reason BAD_IMPORT, with one violation per
// fault, whose `field` is the path in the request.
Status CheckImport(const v1::ImportResultsRequest& request, WallTime now);

}  // namespace assay::schema
