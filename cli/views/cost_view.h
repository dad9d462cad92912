// Renders the costs of cases at providers. No I/O.
#pragma once

#include <string>

#include "assay/v1/analysis_service.pb.h"
#include "cli/views/table.h"

namespace assay::cli {

// Renders one row per case, hardware and provider. For each case, marks the cheapest row and
// compares the others with it, if its metric is a rate.
std::string CostsTable(const v1::GetCostsResponse& costs, const Style& style);

// Returns one record per row, after a header.
std::string CostsCsv(const v1::GetCostsResponse& costs);

}  // namespace assay::cli
