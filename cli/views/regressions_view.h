// Renders incidents and the regressions that they consist of. No I/O.
#pragma once

#include <string>

#include "assay/v1/analysis_service.pb.h"
#include "cli/views/table.h"

namespace assay::cli {

// Returns true if any incident or regression is confirmed and neither acknowledged nor closed.
bool HasConfirmed(const v1::ListRegressionsResponse& found);

// Renders one row per incident. Ids are shortened to 8 characters, by which commands accept them.
std::string IncidentsTable(const v1::ListRegressionsResponse& found, const Style& style);

// Renders each regression as a paragraph: what became slower, where and since when, what else
// changed at that time, the reruns, and who acknowledged the regression. Renders at most `limit`
// paragraphs and says how many regressions are left out.
std::string RegressionsText(const v1::ListRegressionsResponse& found, int limit,
                            const Style& style);

// Returns one record per regression, after a header.
std::string RegressionsCsv(const v1::ListRegressionsResponse& found);

}  // namespace assay::cli
