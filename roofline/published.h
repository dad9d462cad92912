// Published measurements, and the selection of those that a result compares with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/parameter.h"

namespace assay {

// One row of data/published.csv.
struct PublishedFigure {
  std::string gpu;  // A GpuSpec::name.
  int gpu_count = 1;
  std::string software;
  std::string benchmark;
  // The parameters that a case must have to be comparable with this published figure. Names and
  // values are those of the benchmark, in canonical form. Other parameters may have any value.
  ParameterMap selector;
  std::string parameters;  // As the publication describes them.
  std::string metric;      // As the benchmark names it.
  double value = 0;
  std::string unit;
  std::string note;

  // Returns "m=4096;n=4096;k=4096;dtype=bf16", in the order of the file.
  std::string case_text;

  // Returns the publication's description, including the implementation: `parameters`, then `note`.
  std::string Description() const { return parameters + (note.empty() ? "" : "; " + note); }
};

// Returns all rows in the order of the file.
const std::vector<PublishedFigure>& PublishedFigures();

// The properties of a stored result that select its figures.
struct PublishedQuery {
  std::string spec;  // The sheet that its prediction used; empty if none.
  std::string gpu_model;
  std::string gpu_form_factor;
  int gpu_count = 0;
  std::string benchmark;
  ParameterMap parameters;
  std::string metric;
};

// Returns the name under which the published figures list a result's GPU, or "" if there are none
// for this GPU. Prefers the name of the spec sheet, because that name distinguishes variants of a
// model.
std::string PublishedGpu(const PublishedQuery& query);

// Returns the figures for the same GPU, benchmark, case and metric, in the file's order.
std::vector<const PublishedFigure*> FindPublished(const PublishedQuery& query);

// Converts the figure to `unit`; returns nothing if the units measure different things.
std::optional<double> ValueIn(const PublishedFigure& figure, const std::string& unit);

}  // namespace assay
