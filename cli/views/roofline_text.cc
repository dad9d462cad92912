#include "cli/views/roofline_text.h"

#include <algorithm>

#include "cli/views/format.h"
#include "cli/views/table.h"
#include "common/text.h"
#include "roofline/prediction.h"
#include "roofline/published.h"
#include "roofline/spec_sheet.h"

namespace assay::cli {
namespace {

Resource ResourceOf(v1::ResourceKind kind) {
  if (kind == v1::RESOURCE_KIND_GPU) return Resource::kGpu;
  return kind == v1::RESOURCE_KIND_NETWORK ? Resource::kNetwork : Resource::kCpu;
}

// Returns the names of the recalled sheets that results can use.
std::string RecalledSheets() {
  std::vector<std::string> names;
  for (const GpuSpec& spec : SpecSheets()) {
    if (spec.kind == "cuda" && spec.certainty == "recalled") names.push_back(spec.name);
  }
  return Join(names);
}

// Returns one row per published figure of `benchmark`.
std::string PublishedTable(const std::string& benchmark, const Style& style) {
  Table table({{"PUBLISHED ON"},
               {"CASE"},
               {"METRIC"},
               {"VALUE", Align::kRight},
               {"SOFTWARE", Align::kLeft, 1},
               {"NOTE", Align::kLeft, 2}});
  bool any = false;
  for (const PublishedFigure& figure : PublishedFigures()) {
    if (figure.benchmark != benchmark) continue;
    any = true;
    std::string parameters = figure.case_text;
    std::replace(parameters.begin(), parameters.end(), ';', ' ');
    table.Add({(figure.gpu_count > 1 ? std::to_string(figure.gpu_count) + "x " : "") + figure.gpu,
               parameters, figure.metric, FormatQuantity(figure.value, figure.unit).ToString(),
               figure.software, figure.Description()});
  }
  return any ? table.Render(style) : "";
}

}  // namespace

std::string RooflineText(const v1::BenchmarkSchema& schema, const Style& style) {
  constexpr int kIndent = 8;
  const auto line = [&](const std::string& text) {
    return Wrap(text, style.width, kIndent) + "\n";
  };
  const bool on_gpu = schema.resource() == v1::RESOURCE_KIND_GPU;
  const std::string own = Sanitize(schema.prediction());
  const std::string prediction = DescribePrediction(own, ResourceOf(schema.resource()));
  const bool none = prediction.rfind("none: ", 0) == 0;
  std::string text = line((own.empty() && !none ? "Roofline:  " : "Prediction:  ") + prediction);
  if (on_gpu && !none) {
    text += line("Sheets not yet checked against the vendor's, whose results are marked R:  " +
                 RecalledSheets());
  }
  const std::string published = PublishedTable(schema.name(), style);
  if (published.empty()) return text;
  return text + "\n" + published +
         line("Compare results with these by: assay compare --published --filter 'benchmark=\"" +
              schema.name() + "\"'") +
         "\n";
}

}  // namespace assay::cli
