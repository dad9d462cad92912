// Sums up the runs of a lineage for dashboards.
#pragma once

#include <vector>

#include "coordinator/core/judging/histories.h"
#include "coordinator/core/judging/prices.h"
#include "storage/analysis_store.h"

namespace assay::coordinator {

// Returns true if any run has a price. AddSummaries then needs `prices`.
bool HasPrices(const storage::Runs& runs);

// Adds the medians by driver, the changes from driver to driver, the costs and the flags of one
// lineage to `findings`. `prices` may be null if no run has a price.
void AddSummaries(const storage::Runs& runs, const std::vector<History>& histories,
                  const Prices* prices, storage::Findings& findings);

}  // namespace assay::coordinator
