// Compares the places of a lineage with each other.
#pragma once

#include <vector>

#include "common/status.h"
#include "coordinator/core/environment.h"
#include "coordinator/core/judging/histories.h"

namespace assay::coordinator {

// Finds outliers among the places where one case has run, and adds them to `findings`. If there are
// any, blocks on the database to read their clocks.
Status AddPeerFindings(const Environment& environment, const storage::Runs& runs,
                       const std::vector<History>& histories, storage::Findings& findings);

}  // namespace assay::coordinator
