// Results as a table for people. Pure.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/result_service.pb.h"
#include "cli/views/table.h"

namespace assay::cli {

// What all rows have in common, the table, the counters and kernels of cases that have
// counters (of a single case its kernels in any event), then what the marks mean. Of the
// parameters those are shown that vary between results of one benchmark, and those
// that say what was measured (sizes, dtype, ranks, op). The column "±%" is half of the 95%
// confidence interval of the median, over the median; empty where too few samples have none.
std::string ResultsTable(const std::vector<v1::StoredResult>& results, const Style& style);

}  // namespace assay::cli
