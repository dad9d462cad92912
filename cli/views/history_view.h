// Renders histories of cases: a plot per case, and a table of their steps. No I/O.
#pragma once

#include <string>

#include "assay/v1/analysis_service.pb.h"
#include "cli/views/history_plot.h"
#include "cli/views/table.h"

namespace assay::cli {

// Renders a plot of each benchmark case (see HistoryPlot), followed by a single table of the steps
// (lasting changes) at all places. If there are many cases, plots only the first few and says so.
std::string HistoryText(const v1::GetHistoryResponse& history, const PlotStyle& plot,
                        const Style& style);

// Returns a header and one CSV record per run. If a step (a lasting change) begins with the run,
// the column "step" contains the performance after the step divided by the performance before it.
std::string HistoryCsv(const v1::GetHistoryResponse& history);

}  // namespace assay::cli
