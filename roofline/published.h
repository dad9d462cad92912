// Benchmark figures published by vendors and authors, and functions that find figures to compare a
// result with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/parameter.h"

namespace assay {

// One row of data/published.csv.
struct PublishedFigure {
  // A GpuSpec::name, or only its beginning ("H100") if the publication does not name the variant.
  std::string gpu;
  int gpu_count = 1;  // 0 if the publication does not say it.
  std::string software;
  std::string benchmark;
  // The parameters that a case must have to be comparable with this published figure. Names and
  // values are the benchmark's, in canonical form. Parameters not listed may have any value. If the
  // selector is empty, the figure is not comparable with any result.
  ParameterMap selector;
  std::string parameters;  // As the publication describes them.
  std::string metric;      // As the benchmark names it.
  double value = 0;
  std::string unit;
  std::string kind;  // "measured", or "published": a claim of the vendor or author.
  std::string note;

  // The selector as text, in the order of the file: "m=4096;n=4096;k=4096;dtype=bf16".
  std::string case_text;

  // Returns the publication's description, including the implementation: `parameters`, then `note`.
  std::string Description() const { return parameters + (note.empty() ? "" : "; " + note); }
};

// Returns the figures of benchmarks, with which results can be compared, in the order of the file.
const std::vector<PublishedFigure>& PublishedFigures();

// Returns all published figures for a GPU. `gpu` is a GpuSpec::name. Besides benchmark figures,
// includes those for whole workloads ("decode" of a model, "serving", "train"), which are not
// comparable with any result. Also includes figures that were published without stating the variant
// of the GPU.
std::vector<const PublishedFigure*> PublishedOf(const std::string& gpu);

// The properties of a stored result by which FindPublished() finds the figures to compare it with.
struct PublishedQuery {
  std::string spec;  // The sheet that its prediction used; empty if none.
  std::string gpu_model;
  std::string gpu_form_factor;
  int gpu_count = 0;
  std::string benchmark;
  ParameterMap parameters;
  std::string metric;
};

// Returns the name by which published figures refer to a result's GPU, or "" if there are none for
// this GPU. Prefers the spec sheet's name, which distinguishes the variants of a model.
std::string PublishedGpu(const PublishedQuery& query);

// Returns the figures for the same GPU, benchmark, case and metric, in the file's order.
std::vector<const PublishedFigure*> FindPublished(const PublishedQuery& query);

// Returns the figure's value in `unit`, or nullopt if the two units measure different quantities.
std::optional<double> ValueIn(const PublishedFigure& figure, const std::string& unit);

}  // namespace assay
