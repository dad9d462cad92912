// Shows the report of `assay pairs`.
#pragma once

#include <string>

#include "analysis/pair_report.h"
#include "cli/views/table.h"

namespace assay::cli {

// Renders a report about pairs of nodes as text. For each case, shows a matrix of medians and a
// list of the bad pairs, followed by the failed jobs and advice on what to check.
std::string PairsText(const analysis::PairReport& report, const Style& style);
// Returns one CSV record per case, pair and direction, including failed and missing pairs.
std::string PairsCsv(const analysis::PairReport& report);
std::string PairsJson(const analysis::PairReport& report);

}  // namespace assay::cli
