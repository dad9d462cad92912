// Renders histories of cases: a plot per case, and a table of their steps. No I/O.
#pragma once

#include <string>

#include "assay/v1/analysis_service.pb.h"
#include "cli/views/history_plot.h"
#include "cli/views/table.h"

namespace assay::cli {

// Renders a plot of each case, see HistoryPlot, and one table of the steps of all places. If there
// are many cases, plots only the first ones and says so.
std::string HistoryText(const v1::GetHistoryResponse& history, const PlotStyle& plot,
                        const Style& style);

// Returns one record per run, after a header. The column "step" has the ratio of a step that begins
// with this run.
std::string HistoryCsv(const v1::GetHistoryResponse& history);

}  // namespace assay::cli
