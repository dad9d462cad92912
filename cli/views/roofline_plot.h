// Shows rooflines, for `assay plot roofline`.
#pragma once

#include <string>

#include "assay/v1/analysis_service.pb.h"
#include "cli/views/plot_canvas.h"
#include "cli/views/table.h"

namespace assay::cli {

// Plots each roofline as text. Lines are roofs (hardware limits), named in a legend. Each point is
// a benchmark case, shown as a letter that says what limits it, for example the memory bandwidth.
std::string RooflinePlot(const v1::GetRooflineResponse& response, const PlotStyle& style);

// Returns one row per point, with the highest efficiency first.
std::string RooflineTable(const v1::GetRooflineResponse& response, const Style& style);

// Returns one CSV record per roof and one per point.
std::string RooflineCsv(const v1::GetRooflineResponse& response);

}  // namespace assay::cli
