// docs/reference/benchmarks.md: what the runner declares of every benchmark.
#include <gtest/gtest.h>

#include "common/units.h"
#include "tests/contract/described_runner.h"
#include "tests/docs/page.h"
#include "wire/benchmark_schema.h"

namespace assay {
namespace {

using testing_support::CodeSpan;
using testing_support::MarkdownTable;

constexpr char kBenchmarksPage[] = "docs/reference/benchmarks.md";

std::string RunsOn(const v1::BenchmarkSchema& schema) {
  switch (schema.resource()) {
    case v1::RESOURCE_KIND_GPU:
      return schema.collective() ? "several GPUs" : "a GPU";
    case v1::RESOURCE_KIND_NETWORK:
      return "several nodes";
    default:
      return "CPUs";
  }
}

std::string Catalogue(const v1::RunnerDescription& runner) {
  std::vector<std::vector<std::string>> rows;
  for (const v1::BenchmarkSchema& schema : runner.benchmarks()) {
    rows.push_back({"[" + CodeSpan(schema.name()) + "](#" + schema.name() + ")", RunsOn(schema),
                    schema.summary(), CodeSpan(schema.metrics(0).name())});
  }
  return MarkdownTable({"benchmark", "runs on", "measures", "primary metric"}, rows);
}

// Returns a default as people write it: 4GiB, 16, cold.
std::string DefaultOf(const ParameterSpec& spec) {
  if (!spec.default_value) return "required";
  const Result<int64_t> bytes = ParseInteger(*spec.default_value);
  const bool size = spec.type == ParameterType::kBytes && bytes.ok();
  return CodeSpan(size ? FormatBytes(*bytes) : *spec.default_value);
}

std::string ParameterTable(const v1::BenchmarkSchema& schema) {
  const Result<std::vector<ParameterSpec>> specs = schema::ParameterSpecs(schema);
  EXPECT_TRUE(specs.ok()) << specs.status();
  std::vector<std::vector<std::string>> rows;
  for (const ParameterSpec& spec : *specs) {
    std::string values = AllowedValues(spec);
    for (const std::string& constraint : ConstraintTexts(spec)) values += "; " + constraint;
    rows.push_back({CodeSpan(spec.name), values, DefaultOf(spec), spec.description});
  }
  return MarkdownTable({"parameter", "values", "default", "meaning"}, rows);
}

std::string MetricTable(const v1::BenchmarkSchema& schema) {
  std::vector<std::vector<std::string>> rows;
  for (const v1::MetricSchema& metric : schema.metrics()) {
    const bool higher = metric.direction() == v1::DIRECTION_HIGHER_IS_BETTER;
    rows.push_back({CodeSpan(metric.name()), metric.unit(), higher ? "higher" : "lower",
                    metric.description()});
  }
  return MarkdownTable({"metric", "unit", "better", "meaning"}, rows);
}

std::string Section(const v1::BenchmarkSchema& schema) {
  std::string text = "## " + schema.name() + "\n\n" + schema.summary() + " (version " +
                     std::to_string(schema.version()) + ", runs on " + RunsOn(schema) + ")\n\n" +
                     ParameterTable(schema) + "\n" + MetricTable(schema);
  if (!schema.model().empty()) text += "\nModel: " + schema.model() + "\n";
  if (!schema.prediction().empty()) text += "\nPrediction: " + schema.prediction() + "\n";
  return text;
}

TEST(BenchmarksPage, DescribesEveryBenchmark) {
  const v1::RunnerDescription runner = Described();
  std::string page = Catalogue(runner);
  for (const v1::BenchmarkSchema& schema : runner.benchmarks()) page += "\n" + Section(schema);
  EXPECT_BLOCK(kBenchmarksPage, "benchmarks", page);
}

}  // namespace
}  // namespace assay
