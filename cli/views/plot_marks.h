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

// Returns the marks for the time axis in chronological order. Steps (lasting changes) in the same
// direction share a mark if they are less than `resolution` seconds apart, as do changes to the
// same driver. Returns at most 9 marks of steps, 5 of drivers and 10 of annotations.
std::vector<PlotMark> FindPlotMarks(const CaseHistory& places,
                                    const std::vector<const v1::Annotation*>& annotations,
                                    double resolution);

}  // namespace assay::cli
