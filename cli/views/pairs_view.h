// The report of `assay pairs` as text, CSV and JSON. Pure.
#pragma once

#include <string>

#include "cli/views/pair_report.h"
#include "cli/views/table.h"

namespace assay::cli {

// Renders a matrix of medians for each case with what is bad in it, then failures, then what to
// check.
std::string PairsText(const PairReport& report, const Style& style);
// One record per case, pair and direction, failed and missing ones included.
std::string PairsCsv(const PairReport& report);
std::string PairsJson(const PairReport& report);

}  // namespace assay::cli
