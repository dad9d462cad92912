// What every ResultStore makes of an imported campaign. Pure.
#pragma once

#include <optional>

#include "common/status.h"
#include "storage/types.h"

namespace assay::storage {

// OK if every case of every job has exactly one result, and every result is of such a case
// and of epoch 1. INVALID_ARGUMENT.
Status CheckImport(const ImportedCampaign& imported);

// Why an imported job has failed: some of its cases have. None if all are well.
std::optional<v1::Failure> FailureOf(const ImportedCampaign& imported, const NewJob& job);

}  // namespace assay::storage
