// Renders the costs of cases at providers. No I/O.
#pragma once

#include <string>

#include "assay/v1/analysis_service.pb.h"
#include "cli/views/table.h"

namespace assay::cli {

// Renders a table of the costs of benchmark cases, with one row per case, hardware and provider. If
// the metric is a rate, marks the cheapest row of each case and shows how much more the others
// cost.
std::string CostsTable(const v1::GetCostsResponse& costs, const Style& style);

// Returns one record per row, after a header.
std::string CostsCsv(const v1::GetCostsResponse& costs);

}  // namespace assay::cli
