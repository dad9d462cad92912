// Sums up the runs of a lineage for dashboards.
#pragma once

#include <vector>

#include "coordinator/core/judging/histories.h"
#include "coordinator/core/judging/prices.h"
#include "storage/analysis_store.h"

namespace assay::coordinator {

// Returns true if any run has a price. AddSummaries then needs `prices`.
bool HasPrices(const storage::Runs& runs);

// Adds summaries of one lineage (comparable runs of one case) to `findings`: medians by driver,
// changes between drivers, costs and flags. `prices` may be null if no run has a price.
void AddSummaries(const storage::Runs& runs, const std::vector<History>& histories,
                  const Prices* prices, storage::Findings& findings);

}  // namespace assay::coordinator
