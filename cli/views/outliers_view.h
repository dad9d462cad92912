// Renders outliers: places whose runs differ from those of their peers. No I/O.
#pragma once

#include <string>

#include "assay/v1/analysis_service.pb.h"
#include "cli/views/table.h"

namespace assay::cli {

// Renders one row per place (such as a GPU or node), showing its worst benchmark case. If
// `each_case` is true, adds a table of all cases of each place. The last sentence says how many
// places were compared with their peers (similar places), and how many have too few peers for a
// comparison.
std::string OutliersText(const v1::ListOutliersResponse& found, bool each_case, const Style& style);

// Returns one record per place and case, after a header.
std::string OutliersCsv(const v1::ListOutliersResponse& found);

}  // namespace assay::cli
