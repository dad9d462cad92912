#include "cli/commands/predict_check.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "analysis/statistics.h"
#include "cli/commands/fleet_figures.h"
#include "cli/views/answer_view.h"
#include "common/numbers.h"
#include "common/text.h"
#include "predict/cost.h"

namespace assay::cli {
namespace {

using predict::Hardware;
using predict::Unit;

// A case whose time can be predicted, with its measured time.
struct CheckedCase {
  const MeasuredCase* measured = nullptr;
  double measured_seconds = 0;
  double by_fleet = 0;  // From the other cases of the fleet; 0: not possible.
  double by_sheet = 0;  // 0: not possible.
};

double Parameter(const MeasuredCase& measured, const char* name) {
  return std::strtod(measured.parameters.at(name).c_str(), nullptr);
}

struct Predicted {
  double seconds = 0;
  std::string source;
};

Result<Predicted> PredictCopy(const MeasuredCase& measured, const Hardware& gpu) {
  const bool copies = measured.parameters.at("op") == "copy";
  const auto& bandwidth = copies && gpu.copy_bandwidth ? gpu.copy_bandwidth : gpu.memory_bandwidth;
  if (!bandwidth) return NotFound("no bandwidth");
  return Predicted{(copies ? 2 : 1) * Parameter(measured, "bytes") / bandwidth->value,
                   bandwidth->source};
}

Result<Predicted> PredictProduct(const MeasuredCase& measured, const Hardware& gpu) {
  const std::string& dtype = measured.parameters.at("dtype");
  ASSAY_ASSIGN_OR_RETURN(
      const predict::ProductTime time,
      Estimate(gpu, {Parameter(measured, "m"), Parameter(measured, "n"), Parameter(measured, "k"),
                     dtype.substr(0, dtype.find('_')), ""}));
  return Predicted{time.seconds, time.source};
}

Result<Predicted> PredictAllReduce(const MeasuredCase& measured, const Hardware& gpu) {
  ASSAY_ASSIGN_OR_RETURN(const predict::AllReduceTime time,
                         EstimateAllReduce(gpu, Parameter(measured, "bytes"),
                                           static_cast<int64_t>(Parameter(measured, "ranks"))));
  return Predicted{time.seconds, time.source};
}

Result<Predicted> PredictCase(const MeasuredCase& measured, const Hardware& gpu) {
  if (measured.benchmark == "memory_bandwidth") return PredictCopy(measured, gpu);
  if (measured.benchmark == "gemm") return PredictProduct(measured, gpu);
  return PredictAllReduce(measured, gpu);
}

double MeasuredSeconds(const MeasuredCase& measured) {
  const double rate = measured.figure.value;
  if (measured.benchmark == "gemm") {
    return 2 * Parameter(measured, "m") * Parameter(measured, "n") * Parameter(measured, "k") /
           rate;
  }
  const double bytes = Parameter(measured, "bytes");
  if (measured.benchmark == "memory_bandwidth") {
    return (measured.parameters.at("op") == "copy" ? 2 : 1) * bytes / rate;
  }
  const double ranks = Parameter(measured, "ranks");
  return 2 * (ranks - 1) / ranks * bytes / rate;
}

bool IsMeasured(const std::string& source) {
  return source.starts_with("measured") || source.starts_with("fitted");
}

// Predicts each case twice: from the spec sheet alone, and from the measurements of all other
// cases. The case's own measurement is left out, because including it would make the prediction
// trivially correct.
std::vector<CheckedCase> CheckCases(const std::vector<MeasuredCase>& cases, const Hardware& sheet) {
  std::vector<CheckedCase> checked;
  for (size_t i = 0; i < cases.size(); ++i) {
    CheckedCase one;
    one.measured = &cases[i];
    one.measured_seconds = MeasuredSeconds(cases[i]);
    const Result<Predicted> by_sheet = PredictCase(cases[i], sheet);
    if (by_sheet.ok()) one.by_sheet = by_sheet->seconds;
    std::vector<MeasuredCase> others = cases;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    Hardware fleet = sheet;
    UseMeasured(others, fleet);
    const Result<Predicted> by_fleet = PredictCase(cases[i], fleet);
    if (by_fleet.ok() && IsMeasured(by_fleet->source)) {
      one.by_fleet = by_fleet->seconds;
    }
    checked.push_back(std::move(one));
  }
  return checked;
}

std::string CaseName(const MeasuredCase& measured) {
  std::vector<std::string> parameters;
  for (const auto& [name, value] : measured.parameters) parameters.push_back(name + "=" + value);
  return measured.benchmark + " " + Join(parameters, " ");
}

predict::Grid::Cell ErrorOf(double predicted, double measured) {
  if (predicted <= 0) return std::monostate();
  return predicted / measured - 1;
}

void AddRows(const std::string& gpu, const std::vector<CheckedCase>& checked, predict::Grid& grid) {
  for (const CheckedCase& one : checked) {
    const double predicted = one.by_fleet > 0 ? one.by_fleet : one.by_sheet;
    grid.rows.push_back({CaseName(*one.measured), ErrorOf(one.by_fleet, one.measured_seconds),
                         ErrorOf(one.by_sheet, one.measured_seconds), one.measured_seconds,
                         predicted, static_cast<double>(one.measured->results), gpu});
  }
}

// Adds the median error of each benchmark.
void AddMedians(const std::map<std::string, std::vector<CheckedCase>>& by_gpu,
                predict::Answer& answer) {
  std::map<std::string, std::vector<double>> fleet;
  std::map<std::string, std::vector<double>> sheet;
  for (const auto& [gpu, checked] : by_gpu) {
    for (const CheckedCase& one : checked) {
      const std::string& benchmark = one.measured->benchmark;
      if (one.by_fleet > 0) {
        fleet[benchmark].push_back(std::fabs(one.by_fleet / one.measured_seconds - 1));
      }
      if (one.by_sheet > 0) {
        sheet[benchmark].push_back(std::fabs(one.by_sheet / one.measured_seconds - 1));
      }
    }
  }
  for (const auto& [benchmark, errors] : fleet) {
    answer.Add(benchmark, analysis::MedianOf(errors), Unit::kFraction,
               "median of |predicted / measured - 1| over " +
                   Counted(static_cast<int64_t>(errors.size()), "case"),
               "from the fleet's other cases");
  }
  for (const auto& [benchmark, errors] : sheet) {
    answer.Add(benchmark + "_by_sheet", analysis::MedianOf(errors), Unit::kFraction,
               "median of |predicted / measured - 1| over " +
                   Counted(static_cast<int64_t>(errors.size()), "case"),
               "from the spec sheet alone");
  }
}

struct CheckOptions {
  bool check = false;
  std::string gpu;
  FigureOptions figures;
  OutputFormat format = OutputFormat::kTable;
};

// Returns the sheets that the check is about.
Result<std::vector<const GpuSpec*>> SheetsToCheck(Client& client, const CheckOptions& options) {
  if (!options.gpu.empty()) {
    const Result<const GpuSpec*> spec = predict::FindSheet(options.gpu);
    if (!spec.ok()) return InvalidArgument(spec.status().message()).WithHint(spec.status().hint());
    return std::vector<const GpuSpec*>{*spec};
  }
  return MeasuredSheets(client, options.figures.simulated);
}

Result<ExitCode> Check(Context& context, const CheckOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  ASSAY_ASSIGN_OR_RETURN(const std::vector<const GpuSpec*> sheets, SheetsToCheck(client, options));
  predict::Answer answer;
  answer.grids.push_back({"",
                          {{"case", Unit::kNumber},
                           {"model_error", Unit::kFraction},
                           {"sheet_error", Unit::kFraction},
                           {"measured", Unit::kSeconds},
                           {"predicted", Unit::kSeconds},
                           {"results", Unit::kCount},
                           {"gpu", Unit::kNumber}},
                          {}});
  std::map<std::string, std::vector<MeasuredCase>> cases;
  std::map<std::string, std::vector<CheckedCase>> by_gpu;
  for (const GpuSpec* spec : sheets) {
    ASSAY_ASSIGN_OR_RETURN(cases[spec->name], FetchMeasuredCases(client, *spec, options.figures));
    by_gpu[spec->name] = CheckCases(cases[spec->name], predict::FromSheet(*spec));
    AddRows(spec->name, by_gpu[spec->name], answer.grids[0]);
  }
  if (answer.grids[0].rows.empty() && options.format == OutputFormat::kTable) {
    PrintError(
        "No result of gemm, memory_bandwidth or all_reduce on a GPU with a spec sheet is stored, "
        "so there is nothing to compare predictions with. A campaign of "
        "examples/single_gpu.yaml gives some.\n");
    return kExitDone;
  }
  AddMedians(by_gpu, answer);
  answer.notes = {
      "MODEL ERROR is predicted over measured time, minus one: below zero the model is too fast. "
      "Each case is predicted from the fleet's other cases; SHEET ERROR from the spec sheet alone. "
      "MEASURED is the median over the results."};
  PrintAnswer({"predict --check", {}, std::move(answer)}, options.format);
  return kExitDone;
}

}  // namespace

Result<std::string> SheetOfNode(Client& client, const FigureOptions& options) {
  const std::string& node = options.node;
  v1::GetNodeRequest request;
  request.set_node(node);
  ASSAY_ASSIGN_OR_RETURN(const v1::GetNodeResponse response,
                         client.Call(&v1::NodeService::Stub::GetNode, request));
  if (response.node().description().inventory().simulated() != options.simulated) {
    return InvalidArgument("--node: " + Quote(node) +
                           (options.simulated ? " is a real node" : " is a simulated node"))
        .WithHint(options.simulated ? "leave --simulated out" : "add --simulated");
  }
  const auto& gpus = response.node().description().inventory().gpus();
  if (gpus.empty()) {
    return InvalidArgument("--node: " + Quote(node) + " has no GPU")
        .WithHint("name a GPU with --gpu, or another node");
  }
  const GpuSpec* const spec = FindSpec(gpus[0].name(), gpus[0].memory_bytes());
  if (spec == nullptr) {
    return InvalidArgument("there is no spec sheet of the " + Sanitize(gpus[0].name()) +
                           " of node " + Quote(node))
        .WithHint("give --gpu, or its figures with --peak and --bandwidth");
  }
  return spec->name;
}

void AddPredictCheck(CLI::App& predict, Context& context) {
  auto options = std::make_shared<CheckOptions>();
  predict
      .add_option_function<std::string>(
          "--check",
          [&predict, options](const std::string& gpu) {
            if (!predict.get_subcommands().empty()) {
              throw CLI::ValidationError("--check", "must not be used with a topic");
            }
            options->check = true;
            options->gpu = gpu;
          },
          "List how far predictions are off, for each case that the fleet measured, or that it "
          "measured on this GPU")
      ->expected(0, 1)
      ->type_name("[GPU]");
  predict.add_flag("--simulated", options->figures.simulated,
                   "With --check: of simulated nodes instead of real ones");
  AddOutputOption(predict, options->format);
  predict.require_subcommand(0, 1);
  predict.callback([&predict, &context, options] {
    if (!predict.get_subcommands().empty()) return;
    if (!options->check) throw CLI::CallForHelp();
    const Result<ExitCode> code = Check(context, *options);
    context.exit_code = code.ok() ? *code : Report(code.status());
  });
}

}  // namespace assay::cli
