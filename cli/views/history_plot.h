// Plots the history of a case as text.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/analysis_service.pb.h"
#include "cli/views/plot_canvas.h"

namespace assay::cli {

// The histories of one case at several places. Owns nothing.
using CaseHistory = std::vector<const v1::PlaceHistory*>;

// Plots the runs of one benchmark case over time. For one place (such as a GPU or node), plots the
// medians of its runs. For several places, plots the median over the places, and shades the range
// from the 10th to the 90th percentile. Omits excluded runs. Returns an empty string if there are
// no runs.
//
// Marks along the time axis, explained in a legend, are digits for steps (lasting changes of the
// value), "D" for driver changes, and letters for `annotations`.
std::string HistoryPlot(const CaseHistory& places,
                        const std::vector<const v1::Annotation*>& annotations,
                        const PlotStyle& style);

}  // namespace assay::cli
