// Renders results as a table. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "assay/v1/result_service.pb.h"
#include "cli/views/result_marks.h"
#include "cli/views/table.h"

namespace assay::cli {

// Renders a line with what all rows have in common, the table, CountersTable, and the legend of the
// marks. The column "±%" is half of the median's 95% confidence interval in percent of the median;
// it is empty for results with too few samples.
std::string ResultsTable(const std::vector<v1::StoredResult>& results, const Style& style);

// Renders hardware counters and kernels, one row per case that has counters. A single case is also
// shown if only its kernels, or the reason why they are unknown, are known. Starts with an empty
// line; empty without rows. `varying` is from FindVarying; remarks on a case become notes of
// `marks`.
std::string CountersTable(const std::vector<v1::StoredResult>& results,
                          const std::map<std::string, std::set<std::string>>& varying,
                          const Style& style, Marks& marks);

}  // namespace assay::cli
