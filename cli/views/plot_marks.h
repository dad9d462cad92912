// Finds what a plot of a history marks on its time axis: steps, driver changes and annotations.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/analysis_service.pb.h"
#include "cli/views/history_plot.h"

namespace assay::cli {

struct PlotMark {
  double time = 0;  // In seconds since 1970.
  char symbol = ' ';
  bool is_step = false;
  // Printable.
  std::string text;
};

// Returns seconds since 1970, clamped to the years 1970 to 2200.
double SecondsOf(const google::protobuf::Timestamp& time);

// Returns the marks for the time axis in chronological order: at most 9 for steps (lasting
// changes), 5 for driver changes and 10 for annotations. Steps in the same direction that are less
// than `resolution` seconds apart share a mark. All changes from one driver to another share a
// mark at the time of the first, but get none if a step at about that time shows the change.
std::vector<PlotMark> FindPlotMarks(const CaseHistory& places,
                                    const std::vector<const v1::Annotation*>& annotations,
                                    double resolution);

}  // namespace assay::cli
