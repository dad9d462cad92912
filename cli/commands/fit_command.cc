// assay fit scaling-law | roofline
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cli/commands/app.h"
#include "cli/commands/fetch_results.h"
#include "cli/views/answer_view.h"
#include "cli/views/table_reader.h"
#include "common/text.h"
#include "predict/roofline_fit.h"
#include "predict/scaling_law.h"

namespace assay::cli {
namespace {

using predict::ScalingPoint;
using predict::Unit;

struct FitOptions {
  std::vector<std::string> points;  // "124M=3.29".
  ResultsQuery query;
  std::string x;  // A field of results, such as parameters.bytes.
  std::string y;  // A metric.
  std::string form = "power";
  OutputFormat format = OutputFormat::kTable;
};

Result<std::vector<ScalingPoint>> ReadPoints(const std::vector<std::string>& texts) {
  std::vector<ScalingPoint> points;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) {
      return InvalidArgument("unexpected argument " + Quote(text) +
                             "; a point is SIZE=LOSS, such as 124M=3.29");
    }
    const auto size = predict::ParseQuantity(text.substr(0, equals), Unit::kParameters);
    if (!size.ok()) return InvalidArgument("size of a point: " + size.status().message());
    const auto loss = predict::ParseQuantity(text.substr(equals + 1), Unit::kNumber);
    if (!loss.ok()) return InvalidArgument("loss of a point: " + loss.status().message());
    points.push_back({size->value, loss->value, 0, ""});
  }
  return points;
}

// Returns the median of the metric over the field `x`, one point per result.
Result<std::vector<ScalingPoint>> FetchPoints(Context& context, const FitOptions& options) {
  if (options.x.empty() || options.y.empty()) {
    return InvalidArgument(
               "points are missing: give them as SIZE=LOSS, or name fields of results "
               "with --x and --y")
        .WithHint("for example: assay fit scaling-law 124M=3.29 355M=3.05 774M=2.91");
  }
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  ResultsQuery query = options.query;
  ASSAY_ASSIGN_OR_RETURN(query.filter,
                         Narrowed(query.filter, "metric = " + options.y + " AND outcome = ok"));
  v1::TabulateResultsRequest request;
  ASSAY_ASSIGN_OR_RETURN(*request.mutable_filter(), CompleteFilter(client, query));
  request.add_fields(options.x);
  request.add_fields("median");
  constexpr int kMost = 10'000;
  request.set_limit(kMost);
  ASSAY_ASSIGN_OR_RETURN(const v1::TabulateResultsResponse table,
                         client.Call(&v1::ResultService::Stub::TabulateResults, request));
  const TableReader reader(table);
  std::vector<ScalingPoint> points;
  for (int row = 0; row < table.row_count(); ++row) {
    double size = reader.Number(options.x, row);
    if (std::isnan(size)) size = std::strtod(reader.Text(options.x, row).c_str(), nullptr);
    points.push_back({size, reader.Number("median", row), 0, ""});
  }
  return points;
}

Result<ExitCode> FitLaw(Context& context, const FitOptions& options) {
  Result<std::vector<ScalingPoint>> points =
      options.points.empty() ? FetchPoints(context, options) : ReadPoints(options.points);
  if (!points.ok()) return points.status();
  const auto form =
      options.form == "power" ? predict::ScalingForm::kPower : predict::ScalingForm::kPowerAndFloor;
  const Result<predict::ScalingFit> fit = FitScalingLaw(*points, form);
  if (!fit.ok()) {
    const std::string& message = fit.status().violations().empty()
                                     ? fit.status().message()
                                     : fit.status().violations()[0].description;
    return InvalidArgument("points: " + message).WithHint(fit.status().hint());
  }
  PrintAnswer(
      {"fit scaling-law", {{"form", options.form, true}}, ScalingLawAnswer(*fit), "95% INTERVAL"},
      options.format);
  return kExitDone;
}

struct RooflineFitOptions {
  ResultsQuery query;
  OutputFormat format = OutputFormat::kTable;
};

// Points of a roofline plot, grouped by the roofs (hardware limits) that apply to them. Each key
// consists of a GPU model and a compute roof, for example "H200 SXM, bf16". The memory roof follows
// from the GPU model.
using PointsByRoof = std::map<std::string, std::vector<predict::IntensityPoint>>;

// Returns a label for a case, with the parameters that have several values in `values`.
std::string LabelOf(const v1::RooflinePoint& point,
                    const std::map<std::string, std::set<std::string>>& values) {
  std::string label = point.benchmark();
  for (const auto& [name, value] : std::map(point.parameters().begin(), point.parameters().end())) {
    if (values.at(name).size() > 1) label += " " + name + "=" + value;
  }
  return label;
}

PointsByRoof PointsOf(const v1::GetRooflineResponse& response) {
  std::map<std::string, std::set<std::string>> values;
  for (const v1::Roofline& roofline : response.rooflines()) {
    for (const v1::RooflinePoint& point : roofline.points()) {
      for (const auto& [name, value] : point.parameters()) values[name].insert(value);
    }
  }
  PointsByRoof groups;
  for (const v1::Roofline& roofline : response.rooflines()) {
    const std::string model = roofline.gpu_model().empty()
                                  ? "CPU"
                                  : roofline.gpu_model() + " " + roofline.gpu_form_factor();
    for (const v1::RooflinePoint& point : roofline.points()) {
      if (point.compute_roof().empty()) continue;
      // The launch overhead keeps such a case below both roofs.
      const bool launch = point.regime() == "launch";
      groups[model + ", " + point.compute_roof()].push_back(
          {point.arithmetic_intensity(), point.flops_per_second(), LabelOf(point, values),
           launch ? "limited by launches" : ""});
    }
  }
  return groups;
}

Result<ExitCode> FitRidge(Context& context, const RooflineFitOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  v1::GetRooflineRequest request;
  ASSAY_ASSIGN_OR_RETURN(*request.mutable_filter(), CompleteFilter(client, options.query));
  constexpr int kMost = 10'000;
  request.set_limit(kMost);
  ASSAY_ASSIGN_OR_RETURN(const v1::GetRooflineResponse found,
                         client.Call(&v1::AnalysisService::Stub::GetRoofline, request));
  PointsByRoof groups = PointsOf(found);
  if (groups.size() > 1) {
    std::vector<std::string> names;
    for (const auto& group : groups) names.push_back(group.first);
    return InvalidArgument("the results lie under several roofs: " + Join(names, "; "))
        .WithHint("narrow --filter, for example: gpu.model = \"H200\" AND parameters.dtype = fp16");
  }
  std::vector<predict::IntensityPoint> points;
  std::string under;
  if (!groups.empty()) {
    under = groups.begin()->first;
    points = std::move(groups.begin()->second);
  }
  const Result<predict::RooflineFit> fit = predict::FitRoofline(std::move(points));
  if (!fit.ok()) return fit.status();
  PrintAnswer({"fit roofline", {{"under", under, true}}, RooflineFitAnswer(*fit), "WITHOUT ONE"},
              options.format);
  return kExitDone;
}

}  // namespace

void AddFitCommands(CLI::App& app, Context& context) {
  CLI::App* fit = app.add_subcommand("fit", "Fit a law to measurements");
  fit->require_subcommand(1);
  CLI::App* command =
      fit->add_subcommand("scaling-law", "Fit L = A N^-a, or L = E + A N^-a, to losses by size");
  command->footer(
      "Points are given, or read from results: the median of the metric --y over the field --x. "
      "Needs three sizes, the largest at least four times the smallest. Examples:\n"
      "  assay fit scaling-law 98944=5.3410 333120=4.9774 788736=4.7920\n"
      "  assay fit scaling-law --filter 'benchmark = gemm' --x parameters.m --y time");
  auto options = std::make_shared<FitOptions>();
  command->add_option("points", options->points, "Points as SIZE=LOSS, such as 124M=3.29")
      ->type_name("SIZE=LOSS");
  AddRangeOptions(*command, options->query);
  command->add_option("--x", options->x, "Field of results with the size, such as parameters.m");
  command->add_option("--y", options->y, "Metric whose median is fitted");
  command->add_option("--form", options->form, "power: L = A N^-a; power+floor: L = E + A N^-a")
      ->check(CLI::IsMember({"power", "power+floor"}))
      ->type_name("FORM")
      ->capture_default_str();
  AddOutputOption(*command, options->format);
  OnRun(*command, context, options, FitLaw);

  CLI::App* roofline =
      fit->add_subcommand("roofline", "Find a GPU's ridge, bandwidth and peak from results");
  roofline->footer(
      "Fits min(bandwidth x intensity, peak) to results with FLOPs and bytes, of one GPU model and "
      "format. Leaves out cases that launches limit. Example:\n"
      "  assay fit roofline --campaign roofline");
  auto roofline_options = std::make_shared<RooflineFitOptions>();
  AddRangeOptions(*roofline, roofline_options->query);
  AddOutputOption(*roofline, roofline_options->format);
  OnRun(*roofline, context, roofline_options, FitRidge);
}

}  // namespace assay::cli
