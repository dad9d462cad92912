// Shows rooflines, for `assay plot roofline`.
#pragma once

#include <string>

#include "assay/v1/analysis_service.pb.h"
#include "cli/views/plot_canvas.h"
#include "cli/views/table.h"

namespace assay::cli {

// Plots each roofline: roofs as lines that a legend names, and points as the letter of what takes
// the time of the case.
std::string RooflinePlot(const v1::GetRooflineResponse& response, const PlotStyle& style);

// One row per point, the highest efficiency first.
std::string RooflineTable(const v1::GetRooflineResponse& response, const Style& style);

// One record per roof and per point.
std::string RooflineCsv(const v1::GetRooflineResponse& response);

}  // namespace assay::cli
