// Renders baselines and their cases. No I/O.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/analysis.pb.h"
#include "cli/views/table.h"

namespace assay::cli {

std::string BaselinesTable(const std::vector<v1::Baseline>& baselines, const Style& style);
std::string BaselinesCsv(const std::vector<v1::Baseline>& baselines);

// Renders one baseline: its filter, its origin, and a table with one row per case.
std::string BaselineText(const v1::Baseline& baseline, const Style& style);
// Returns one record per case, after a header.
std::string BaselineCsv(const v1::Baseline& baseline);

}  // namespace assay::cli
