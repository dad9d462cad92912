#include "cli/views/roofline_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "cli/views/format.h"
#include "cli/views/output.h"
#include "cli/views/result_text.h"
#include "cli/views/xy_plot.h"
#include "common/text.h"
#include "wire/timestamps.h"

namespace assay::cli {
namespace {

struct RegimeMark {
  const char* regime;
  char letter;
  const char* meaning;
};
constexpr std::array<RegimeMark, 6> kRegimes = {{
    {"compute", 'C', "compute takes the time"},
    {"memory", 'M', "memory bandwidth takes the time"},
    {"cache", 'K', "caches or shared memory take the time"},
    {"launch", 'L', "launches take the time"},
    {"link", 'N', "a link takes the time"},
    {"", 'X', "what takes the time is not known"},
}};

const RegimeMark& MarkOf(const std::string& regime) {
  const auto* const found =
      std::find_if(kRegimes.begin(), kRegimes.end(),
                   [&](const RegimeMark& one) { return one.regime == regime; });
  return found == kRegimes.end() ? kRegimes.back() : *found;
}

std::string NameOf(const v1::Roofline& roofline) {
  if (roofline.gpu_model().empty()) return "CPU";
  return roofline.gpu_model() +
         (roofline.gpu_form_factor().empty() ? "" : " " + roofline.gpu_form_factor());
}

std::string BasisText(const v1::Roof& roof) {
  if (roof.basis() == "sheet") return "spec sheet";
  if (roof.basis() == "clock") return "spec sheet at the clock of the points";
  if (roof.basis() != "measured") return roof.basis();
  return "best measured" + (roof.result_id().empty() ? "" : ", result " + roof.result_id());
}

int StepOf(const v1::Roof& roof) { return roof.basis() == "sheet" ? 1 : 2; }

// The symbols of roofs begin with digits, which differ from the letters of the points.
char RoofSymbol(size_t index) {
  return static_cast<char>(index < 9 ? '1' + index : 'a' + index - 9);
}
constexpr size_t kMostRoofs = 9 + 26;

// Returns the range of the x axis, which covers the arithmetic intensities of all points and all
// intersections of a compute roof with a memory roof, if both come from the spec sheet.
std::pair<double, double> IntensitiesOf(const v1::Roofline& roofline) {
  double low = HUGE_VAL;
  double high = 0;
  const auto include = [&](double intensity) {
    if (!(intensity > 0) || !std::isfinite(intensity)) return;
    low = std::min(low, intensity);
    high = std::max(high, intensity);
  };
  for (const v1::RooflinePoint& point : roofline.points()) include(point.arithmetic_intensity());
  for (const v1::Roof& compute : roofline.roofs()) {
    if (compute.is_bandwidth() || compute.basis() != "sheet") continue;
    for (const v1::Roof& memory : roofline.roofs()) {
      const bool meets = memory.is_bandwidth() && memory.basis() == "sheet" && memory.value() > 0;
      if (meets) include(compute.value() / memory.value());
    }
  }
  return {low / 2, high * 2};
}

double HighestCompute(const v1::Roofline& roofline) {
  double highest = 0;
  for (const v1::Roof& roof : roofline.roofs()) {
    if (!roof.is_bandwidth()) highest = std::max(highest, roof.value());
  }
  for (const v1::RooflinePoint& point : roofline.points()) {
    highest = std::max(highest, point.flops_per_second());
  }
  return highest;
}

double HighestBandwidth(const v1::Roofline& roofline) {
  double highest = 0;
  for (const v1::Roof& roof : roofline.roofs()) {
    if (roof.is_bandwidth()) highest = std::max(highest, roof.value());
  }
  return highest;
}

// Adds a roof (a hardware limit) to the plot as a line. Puts its symbol near the end of the line
// where no other roof crosses. `place`, the number of earlier roofs of the same kind, shifts the
// symbol so that the symbols of neighboring roofs do not overlap.
void AddRoof(const v1::Roofline& roofline, const v1::Roof& roof, char symbol, int place,
             const std::pair<double, double>& x, XyPlot& plot) {
  constexpr double kSpacing = 0.04;
  if (!(roof.value() > 0) || !std::isfinite(roof.value())) return;
  const double aside = std::pow(x.second / x.first, kSpacing * place);
  if (roof.is_bandwidth()) {
    const double end = std::min(x.second, HighestCompute(roofline) / roof.value());
    plot.lines.push_back(
        {{{x.first, roof.value() * x.first}, {end, roof.value() * end}}, StepOf(roof)});
    const double at = std::min(end, x.first * aside);
    plot.points.push_back({at, roof.value() * at, symbol});
    return;
  }
  const double widest = HighestBandwidth(roofline);
  const double begin = widest > 0 ? std::max(x.first, roof.value() / widest) : x.first;
  plot.lines.push_back({{{begin, roof.value()}, {x.second, roof.value()}}, StepOf(roof)});
  plot.points.push_back({std::max(begin, x.second / aside), roof.value(), symbol});
}

std::string OnePlot(const v1::Roofline& roofline, const PlotStyle& style) {
  XyPlot plot;
  plot.x_unit = "FLOP/B";
  plot.y_unit = "FLOP/s";
  plot.log_y = true;
  std::map<char, int> counts;
  for (const v1::RooflinePoint& point : roofline.points()) {
    const char letter = MarkOf(point.regime()).letter;
    ++counts[letter];
    plot.points.push_back({point.arithmetic_intensity(), point.flops_per_second(), letter});
  }
  const std::pair<double, double> x = IntensitiesOf(roofline);
  std::string legend;
  size_t index = 0;
  int places[] = {0, 0};  // Roofs of compute and of bandwidth so far.
  for (const v1::Roof& roof : roofline.roofs()) {
    if (index == kMostRoofs) break;
    const char symbol = RoofSymbol(index++);
    AddRoof(roofline, roof, symbol, places[roof.is_bandwidth() ? 1 : 0]++, x, plot);
    const std::string unit = roof.is_bandwidth() ? "B/s" : "FLOP/s";
    legend += Wrap(Sanitize(std::string("  ") + symbol + "  " + roof.name() + " " +
                            ShortQuantity(roof.value(), unit) + ", " + BasisText(roof)),
                   style.width, 5) +
              "\n";
  }
  for (const RegimeMark& mark : kRegimes) {
    if (counts.count(mark.letter) == 0) continue;
    legend += std::string("  ") + mark.letter + "  " + mark.meaning + ": " +
              Counted(counts.at(mark.letter), "result") + "\n";
  }
  std::string heading = NameOf(roofline) + ": " + Counted(roofline.points_size(), "result");
  if (roofline.spec_certainty() == "recalled") {
    heading += "; the spec sheet was not checked against the vendor's";
  }
  return Wrap(Sanitize(heading), style.width, 2) + "\n" + DrawXyPlot(plot, style) + legend;
}

std::string NumberIf(bool known, double number) { return known ? FormatExact(number) : ""; }

}  // namespace

std::string RooflinePlot(const v1::GetRooflineResponse& response, const PlotStyle& style) {
  std::string text;
  for (const v1::Roofline& roofline : response.rooflines()) {
    text += (text.empty() ? "" : "\n") + OnePlot(roofline, style);
  }
  return text;
}

std::string RooflineTable(const v1::GetRooflineResponse& response, const Style& style) {
  Table table({{"GPU"},
               {"BENCHMARK"},
               {"CASE", Align::kLeft, 1},
               {"FLOP/B", Align::kRight},
               {"FLOP/s", Align::kRight},
               {"ROOF"},
               {"REGIME"},
               {"EFF%", Align::kRight},
               {"NODE", Align::kLeft, 2}});
  for (const v1::Roofline& roofline : response.rooflines()) {
    std::vector<const v1::RooflinePoint*> points;
    for (const v1::RooflinePoint& point : roofline.points()) points.push_back(&point);
    std::stable_sort(points.begin(), points.end(), [](const auto* a, const auto* b) {
      return a->efficiency_spec() > b->efficiency_spec();
    });
    for (const v1::RooflinePoint* point : points) {
      table.Add({Sanitize(NameOf(roofline)), Sanitize(point->benchmark()),
                 Sanitize(ParametersText(point->parameters())),
                 FormatSignificant(point->arithmetic_intensity(), 4),
                 FormatQuantity(point->flops_per_second(), "FLOP/s").ToString(),
                 Sanitize(point->compute_roof()), Sanitize(point->regime()),
                 point->has_efficiency_spec() ? FormatFixed(100 * point->efficiency_spec(), 1) : "",
                 Sanitize(point->node_name())});
    }
  }
  return table.empty() ? "" : table.Render(style);
}

std::string RooflineCsv(const v1::GetRooflineResponse& response) {
  std::string csv =
      CsvRecord({"kind", "gpu_model", "gpu_form_factor", "roof", "basis", "unit", "value", "low",
                 "high", "arithmetic_intensity", "benchmark", "parameters", "regime",
                 "efficiency_spec", "node", "gpu_uuid", "result_id", "flags"});
  for (const v1::Roofline& roofline : response.rooflines()) {
    for (const v1::Roof& roof : roofline.roofs()) {
      csv += CsvRecord({"roof", roofline.gpu_model(), roofline.gpu_form_factor(), roof.name(),
                        roof.basis(), roof.is_bandwidth() ? "B/s" : "FLOP/s",
                        FormatExact(roof.value()), "", "", "", "", "", "", "", "", "",
                        roof.result_id(), ""});
    }
    for (const v1::RooflinePoint& point : roofline.points()) {
      csv += CsvRecord({"point", roofline.gpu_model(), roofline.gpu_form_factor(),
                        point.compute_roof(), "", "FLOP/s", FormatExact(point.flops_per_second()),
                        NumberIf(point.has_flops_per_second_low(), point.flops_per_second_low()),
                        NumberIf(point.has_flops_per_second_high(), point.flops_per_second_high()),
                        FormatExact(point.arithmetic_intensity()), point.benchmark(),
                        ParametersCsv(point.parameters()), point.regime(),
                        NumberIf(point.has_efficiency_spec(), point.efficiency_spec()),
                        point.node_name(), point.gpu_uuid(), point.result_id(),
                        Join(point.flags(), ";")});
    }
  }
  return csv;
}

}  // namespace assay::cli
