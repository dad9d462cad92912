// assay benchmark list | show
#include <unistd.h>

#include <memory>
#include <vector>

#include "cli/commands/app.h"
#include "cli/views/roofline_text.h"
#include "cli/views/table.h"
#include "common/text.h"
#include "common/units.h"
#include "model/parameter.h"
#include "wire/benchmark_schema.h"

namespace assay::cli {
namespace {

struct BenchmarkListOptions {
  OutputFormat format = OutputFormat::kTable;
};

struct BenchmarkShowOptions {
  std::string name;
  OutputFormat format = OutputFormat::kTable;
};

std::string RunsOn(v1::ResourceKind kind) {
  switch (kind) {
    case v1::RESOURCE_KIND_CPU:
      return "CPU";
    case v1::RESOURCE_KIND_GPU:
      return "GPU";
    case v1::RESOURCE_KIND_NETWORK:
      return "network";
    default:
      return "";
  }
}

std::string NodeNames(const v1::FleetBenchmark& benchmark) {
  return Join({benchmark.node_names().begin(), benchmark.node_names().end()});
}

std::string ParameterNames(const v1::BenchmarkSchema& schema) {
  std::vector<std::string> names;
  for (const v1::ParameterSchema& parameter : schema.parameters())
    names.push_back(parameter.name());
  return Join(names, " ");
}

std::string ListTable(const v1::ListFleetBenchmarksResponse& fleet, const Style& style) {
  Table table({{"NAME"},
               {"RUNS ON"},
               {"METRIC", Align::kLeft, 1},
               {"UNIT", Align::kLeft, 2},
               {"PARAMETERS", Align::kLeft, 3},
               {"AVAILABLE"},
               {"SUMMARY", Align::kLeft, 4}});
  for (const v1::FleetBenchmark& benchmark : fleet.benchmarks()) {
    const v1::BenchmarkSchema& schema = benchmark.schema();
    const int nodes = benchmark.node_names_size();
    const v1::MetricSchema metric =
        schema.metrics().empty() ? v1::MetricSchema() : schema.metrics(0);
    table.Add({schema.name(), RunsOn(schema.resource()), metric.name(), metric.unit(),
               ParameterNames(schema),
               nodes > 0 ? Cell(Counted(nodes, "node")) : Cell("no node", Tone::kDim),
               schema.summary()});
  }
  return table.Render(style);
}

std::string ListCsv(const v1::ListFleetBenchmarksResponse& fleet) {
  std::string csv = CsvRecord({"name", "version", "resource", "collective", "parameters",
                               "primary_metric", "unit", "nodes", "unsupported_reason", "summary"});
  for (const v1::FleetBenchmark& benchmark : fleet.benchmarks()) {
    const v1::BenchmarkSchema& schema = benchmark.schema();
    const v1::MetricSchema metric =
        schema.metrics().empty() ? v1::MetricSchema() : schema.metrics(0);
    csv += CsvRecord({schema.name(), std::to_string(schema.version()), RunsOn(schema.resource()),
                      schema.collective() ? "true" : "false", ParameterNames(schema), metric.name(),
                      metric.unit(), NodeNames(benchmark), schema.unsupported_reason(),
                      schema.summary()});
  }
  return csv;
}

Result<v1::ListFleetBenchmarksResponse> Fetch(Context& context) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  return client.Call(&v1::CampaignService::Stub::ListFleetBenchmarks,
                     v1::ListFleetBenchmarksRequest());
}

Result<ExitCode> ListBenchmarks(Context& context, const BenchmarkListOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const v1::ListFleetBenchmarksResponse fleet, Fetch(context));
  if (options.format == OutputFormat::kJson) {
    JsonArray array;
    for (const v1::FleetBenchmark& benchmark : fleet.benchmarks()) Print(array.Add(benchmark));
    Print(array.Finish());
  } else if (options.format == OutputFormat::kCsv) {
    Print(ListCsv(fleet));
  } else if (fleet.benchmarks().empty()) {
    PrintError("No node is connected, so nothing can run. See: assay node list\n");
  } else {
    Print(ListTable(fleet, StyleOf(STDOUT_FILENO)));
  }
  return kExitDone;
}

// Formats a default as people write it: 4GiB, 16, cold.
std::string DefaultText(const ParameterSpec& spec) {
  if (!spec.default_value) return "required";
  const Result<int64_t> bytes =
      spec.type == ParameterType::kBytes ? ParseInteger(*spec.default_value) : InvalidArgument("");
  return bytes.ok() ? FormatBytes(*bytes) : *spec.default_value;
}

// Lists the parameters with the values that they accept.
std::string ParameterTable(const v1::BenchmarkSchema& schema, const Style& style) {
  const Result<std::vector<ParameterSpec>> specs = schema::ParameterSpecs(schema);
  if (!specs.ok()) return "  not usable: " + Sanitize(specs.status().message()) + "\n";
  Table table({{"PARAMETER"}, {"DEFAULT"}, {"ALLOWED"}, {"MEANING", Align::kLeft, 1}});
  for (const ParameterSpec& spec : *specs) {
    table.Add({spec.name, DefaultText(spec), AllowedValues(spec), spec.description});
  }
  return table.Render(style);
}

// Lists the parameter values that the benchmark accepts only together with certain values of other
// parameters. Returns an empty string if there are none.
std::string LimitLines(const v1::BenchmarkSchema& schema, const Style& style) {
  const Result<std::vector<ParameterSpec>> specs = schema::ParameterSpecs(schema);
  std::string lines;
  if (!specs.ok()) return lines;
  for (const ParameterSpec& spec : *specs) {
    for (const std::string& text : ConstraintTexts(spec)) {
      lines += Wrap("  " + Sanitize(spec.name + ": " + text), style.width, 4) + "\n";
    }
  }
  return lines.empty() ? "" : "Values that go together:\n" + lines + "\n";
}

std::string MetricTable(const v1::BenchmarkSchema& schema, const Style& style) {
  Table table({{"METRIC"}, {"UNIT"}, {"BETTER"}, {"MEANING", Align::kLeft, 1}});
  for (const v1::MetricSchema& metric : schema.metrics()) {
    table.Add({metric.name(), metric.unit(),
               metric.direction() == v1::DIRECTION_LOWER_IS_BETTER ? "lower" : "higher",
               metric.description()});
  }
  return table.Render(style);
}

void PrintBenchmark(const v1::FleetBenchmark& benchmark) {
  const v1::BenchmarkSchema& schema = benchmark.schema();
  const Style style = StyleOf(STDOUT_FILENO);
  std::string text = Sanitize(schema.name()) + " (version " + std::to_string(schema.version()) +
                     "), runs on " + RunsOn(schema.resource()) + "\n";
  text += Sanitize(schema.summary()) + "\n\n" + ParameterTable(schema, style) + "\n" +
          LimitLines(schema, style) + MetricTable(schema, style);
  if (!schema.model().empty())
    text += "\n" + Wrap("Model:  " + Sanitize(schema.model()), style.width, 8) + "\n";
  text += RooflineText(schema, style);
  text += benchmark.node_names().empty()
              ? "Nodes:  none can run it" +
                    (schema.unsupported_reason().empty()
                         ? ""
                         : " (" + Sanitize(schema.unsupported_reason()) + ")") +
                    "\n"
              : "Nodes:  " + Sanitize(NodeNames(benchmark)) + "\n";
  Print(text);
}

Result<ExitCode> ShowBenchmark(Context& context, const BenchmarkShowOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const v1::ListFleetBenchmarksResponse fleet, Fetch(context));
  std::vector<std::string> names;
  for (const v1::FleetBenchmark& benchmark : fleet.benchmarks()) {
    names.push_back(benchmark.schema().name());
    if (benchmark.schema().name() != options.name) continue;
    if (options.format == OutputFormat::kJson) {
      Print(ToJson(benchmark) + "\n");
    } else if (options.format == OutputFormat::kCsv) {
      v1::ListFleetBenchmarksResponse one;
      *one.add_benchmarks() = benchmark;
      Print(ListCsv(one));
    } else {
      PrintBenchmark(benchmark);
    }
    return kExitDone;
  }
  const std::string closest = ClosestName(options.name, names);
  return NotFound("no connected node has the benchmark " + Quote(options.name))
      .WithHint(!closest.empty() ? "did you mean " + Quote(closest) + "?"
                : names.empty()  ? "no node is connected; see: assay node list"
                                 : "benchmarks: " + Join(names));
}

}  // namespace

void AddBenchmarkCommands(CLI::App& app, Context& context) {
  CLI::App* benchmark = app.add_subcommand("benchmark", "What the fleet can measure");
  benchmark->require_subcommand(1);
  CLI::App* list = benchmark->add_subcommand("list", "List the benchmarks that nodes can run");
  auto list_options = std::make_shared<BenchmarkListOptions>();
  AddOutputOption(*list, list_options->format);
  OnRun(*list, context, list_options, ListBenchmarks);

  CLI::App* show =
      benchmark->add_subcommand("show", "Show a benchmark's parameters, metrics and model");
  auto show_options = std::make_shared<BenchmarkShowOptions>();
  show->add_option("name", show_options->name, "Benchmark")->required();
  AddOutputOption(*show, show_options->format);
  OnRun(*show, context, show_options, ShowBenchmark);
}

}  // namespace assay::cli
