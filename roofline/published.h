// Measurements that others have published, and which of them a result compares with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/parameter.h"

namespace assay {

// One row of data/published.csv.
struct PublishedFigure {
  std::string gpu;  // As GpuSpec::name.
  int gpu_count = 1;
  std::string software;
  std::string benchmark;
  // Parameters that a case must have to be the one that was published, under the
  // benchmark's names and in canonical form. Those not named may have any value.
  ParameterMap selector;
  std::string parameters;  // As the publication describes them.
  std::string metric;      // As the benchmark names it.
  double value = 0;
  std::string unit;
  std::string note;

  // "m=4096;n=4096;k=4096;dtype=bf16", in the order of the file.
  std::string case_text;

  // What the publication says of it, the implementation among it: `parameters`, then `note`.
  std::string Description() const { return parameters + (note.empty() ? "" : "; " + note); }
};

// In the order of the file.
const std::vector<PublishedFigure>& PublishedFigures();

// What a stored result tells about itself.
struct PublishedQuery {
  std::string spec;  // Sheet that its prediction used; empty if none.
  std::string gpu_model;
  std::string gpu_form_factor;
  int gpu_count = 0;
  std::string benchmark;
  ParameterMap parameters;
  std::string metric;
};

// The name that `gpu` of the figures has for it; the sheet tells parts of one model
// apart, so it comes first. Empty if no figure is of this GPU.
std::string PublishedGpu(const PublishedQuery& query);

// The figures of the same GPUs, benchmark, case and metric, in the file's order.
std::vector<const PublishedFigure*> FindPublished(const PublishedQuery& query);

// The figure in `unit`; absent if the units measure different things.
std::optional<double> ValueIn(const PublishedFigure& figure, const std::string& unit);

}  // namespace assay
