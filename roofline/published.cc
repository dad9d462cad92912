#include "roofline/published.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "common/text.h"
#include "roofline/csv.h"
#include "roofline/embedded.h"

namespace assay {
namespace {

ParameterMap SelectorOf(const std::string& text) {
  ParameterMap selector;
  for (const std::string_view entry : Split(text, ';')) {
    const auto parts = Split(entry, '=', 2);
    if (parts.size() == 2) selector.emplace(parts[0], parts[1]);
  }
  return selector;
}

PublishedFigure FigureOf(const CsvRow& row) {
  PublishedFigure figure;
  figure.gpu = row.at("gpu");
  figure.gpu_count = static_cast<int>(CsvNumber(row, "gpu_count").value_or(0));
  figure.software = row.at("software");
  figure.benchmark = row.at("benchmark");
  figure.case_text = row.at("case");
  figure.selector = SelectorOf(figure.case_text);
  figure.parameters = row.at("parameters");
  figure.metric = row.at("metric");
  figure.value = CsvNumber(row, "value").value_or(0);
  figure.unit = row.at("unit");
  figure.kind = row.at("kind");
  figure.note = row.at("note");
  return figure;
}

// Returns rows from the file of published figures. If `comparable` is true, returns those for
// benchmarks, which have a selector. Otherwise, returns those for workloads, which do not.
std::vector<PublishedFigure> ReadFigures(bool comparable) {
  std::vector<PublishedFigure> figures;
  for (const CsvRow& row : ParseCsv(kPublishedCsv)) {
    PublishedFigure figure = FigureOf(row);
    if (figure.selector.empty() != comparable) figures.push_back(std::move(figure));
  }
  return figures;
}

// Returns true if `gpu` is `model` or a variant of it. For example, "H100 SXM" is a variant of
// "H100", and "A100-SXM4-80GB" is a variant of "A100".
bool IsVariantOf(const std::string& gpu, const std::string& model) {
  return gpu.starts_with(model) &&
         (gpu.size() == model.size() || gpu[model.size()] == ' ' || gpu[model.size()] == '-');
}

bool Selects(const ParameterMap& selector, const ParameterMap& parameters) {
  return std::all_of(selector.begin(), selector.end(), [&](const auto& entry) {
    const auto given = parameters.find(entry.first);
    return given != parameters.end() && given->second == entry.second;
  });
}

bool IsPublishedGpu(const std::string& name) {
  const auto& figures = PublishedFigures();
  return std::any_of(figures.begin(), figures.end(),
                     [&](const PublishedFigure& figure) { return figure.gpu == name; });
}

struct Unit {
  std::string base;
  double scale = 0;
};

std::optional<Unit> UnitOf(const std::string& name) {
  static const std::map<std::string, Unit> units = {
      {"s", {"s", 1}},           {"ms", {"s", 1e-3}},        {"us", {"s", 1e-6}},
      {"ns", {"s", 1e-9}},       {"GB/s", {"B/s", 1e9}},     {"TB/s", {"B/s", 1e12}},
      {"GFLOP/s", {"F/s", 1e9}}, {"TFLOP/s", {"F/s", 1e12}}, {"TOP/s", {"F/s", 1e12}},
      {"cycles", {"cycle", 1}}};
  const auto found = units.find(name);
  if (found == units.end()) return std::nullopt;
  return found->second;
}

}  // namespace

const std::vector<PublishedFigure>& PublishedFigures() {
  static const std::vector<PublishedFigure> figures = ReadFigures(true);
  return figures;
}

std::vector<const PublishedFigure*> PublishedOf(const std::string& gpu) {
  static const std::vector<PublishedFigure> workloads = ReadFigures(false);
  std::vector<const PublishedFigure*> found;
  for (const std::vector<PublishedFigure>* figures : {&PublishedFigures(), &workloads}) {
    for (const PublishedFigure& figure : *figures) {
      if (IsVariantOf(gpu, figure.gpu)) found.push_back(&figure);
    }
  }
  return found;
}

std::string PublishedGpu(const PublishedQuery& query) {
  for (const std::string& name :
       {query.spec, query.gpu_model + " " + query.gpu_form_factor, query.gpu_model}) {
    if (IsPublishedGpu(name)) return name;
  }
  return "";
}

std::vector<const PublishedFigure*> FindPublished(const PublishedQuery& query) {
  std::vector<const PublishedFigure*> found;
  const std::string gpu = PublishedGpu(query);
  for (const PublishedFigure& figure : PublishedFigures()) {
    if (figure.gpu == gpu && figure.gpu_count == query.gpu_count &&
        figure.benchmark == query.benchmark && figure.metric == query.metric &&
        Selects(figure.selector, query.parameters)) {
      found.push_back(&figure);
    }
  }
  return found;
}

std::optional<double> ValueIn(const PublishedFigure& figure, const std::string& unit) {
  const auto from = UnitOf(figure.unit);
  const auto to = UnitOf(unit);
  if (!from || !to || from->base != to->base) return std::nullopt;
  return figure.value * from->scale / to->scale;
}

}  // namespace assay
