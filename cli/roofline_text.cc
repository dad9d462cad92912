#include "cli/roofline_text.h"

#include <algorithm>

#include "cli/field_reader.h"
#include "cli/utf8.h"
#include "kernels/roofline/prediction.h"
#include "kernels/roofline/published.h"
#include "kernels/roofline/spec_sheet.h"

namespace assay::cli {
namespace {

std::string RecalledSheets() {
  std::vector<std::string> names;
  for (const GpuSpec& spec : SpecSheets()) {
    if (spec.certainty == "recalled") names.push_back(spec.name);
  }
  return Join(names);
}

}  // namespace

std::string RooflineText(const v1::BenchmarkSchema& schema, const Style& style) {
  constexpr int kIndent = 8;
  const auto line = [&](const std::string& text) {
    return Wrap(text, style.width, kIndent) + "\n";
  };
  const bool on_gpu = schema.resource() == v1::RESOURCE_KIND_GPU;
  std::string text = line("Roofline:  " + DescribePrediction(on_gpu));
  if (on_gpu) {
    text += line("Sheets not yet checked against the vendor's, whose results are marked R:  " +
                 RecalledSheets());
  }
  const auto& figures = PublishedFigures();
  const auto published = std::count_if(
      figures.begin(), figures.end(),
      [&](const PublishedFigure& figure) { return figure.benchmark == schema.name(); });
  if (published > 0) {
    text += line("Published:  " + std::to_string(published) +
                 (published == 1 ? " figure" : " figures") +
                 ", to compare with by: assay compare --published --filter 'benchmark=\"" +
                 schema.name() + "\"'");
  }
  return text;
}

}  // namespace assay::cli
