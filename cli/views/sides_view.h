// Renders the comparison of two sides, A and B, case by case. No I/O.
#pragma once

#include <string>

#include "assay/v1/analysis_service.pb.h"
#include "cli/views/table.h"

namespace assay::cli {

// Returns true if any case is worse in B.
bool HasRegressed(const v1::CompareResultsResponse& comparison);

// Renders the comparison of two sets of results, called sides, as text: a sentence with the number
// of cases per verdict, a table with one row per case, and notes. The notes say what is needed to
// decide inconclusive cases, and which runs were not compared. The table has at most `limit` rows
// (0 for all). If the sides have no case in common, says in which fields they differ.
std::string SidesText(const v1::CompareResultsResponse& comparison, int limit, const Style& style);

// Returns one record per case, after a header.
std::string SidesCsv(const v1::CompareResultsResponse& comparison);

}  // namespace assay::cli
