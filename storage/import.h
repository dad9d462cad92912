// Checks an imported campaign. Shared by every ResultStore. Pure.
#pragma once

#include <optional>

#include "common/status.h"
#include "storage/types.h"

namespace assay::storage {

// INVALID_ARGUMENT unless every case of every job has exactly one result, of epoch 1, and there are
// no other results.
Status CheckImport(const ImportedCampaign& imported);

// Returns the failure of an imported job that has failed cases, else nullopt.
std::optional<v1::Failure> FailureOf(const ImportedCampaign& imported, const NewJob& job);

}  // namespace assay::storage
