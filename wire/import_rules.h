// What may be stored of results that were measured elsewhere: one set of rules, for the
// coordinator that stores them and for a command line that only says what it would store.
#pragma once

#include "assay/v1/result_service.pb.h"
#include "common/clock.h"
#include "common/status.h"

namespace assay::schema {

// Results of one import.
inline constexpr int kMaxImportedResults = 10'000;

// Whether all of `request` is in bounds: plain texts, finite numbers, times from 1970 to
// `now`. INVALID_ARGUMENT has one violation a fault, `field` being the message's.
Status CheckImport(const v1::ImportResultsRequest& request, WallTime now);

}  // namespace assay::schema
