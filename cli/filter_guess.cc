#include "cli/filter_guess.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "common/parameter.h"

namespace assay::cli {
namespace {

constexpr std::string_view kParameter = "parameters.";

struct Names {
  std::vector<std::string> benchmarks;
  std::vector<std::string> metrics;
  std::vector<std::string> parameters;
};

Names NamesOf(const v1::ListFleetBenchmarksResponse& fleet) {
  Names names;
  for (const v1::FleetBenchmark& benchmark : fleet.benchmarks()) {
    names.benchmarks.push_back(benchmark.schema().name());
    for (const v1::MetricSchema& metric : benchmark.schema().metrics()) {
      names.metrics.push_back(metric.name());
    }
    for (const v1::ParameterSchema& parameter : benchmark.schema().parameters()) {
      names.parameters.push_back(parameter.name());
    }
  }
  return names;
}

std::string Guess(const std::string& what, const std::string& name,
                  const std::vector<std::string>& known, std::string_view prefix = "") {
  if (std::find(known.begin(), known.end(), name) != known.end()) return "";
  const std::string closest = ClosestName(name, known);
  if (closest.empty()) return "";
  return "no connected node has a " + what + " `" + name + "`; did you mean `" +
         std::string(prefix) + closest + "`?";
}

std::string GuessIn(const Filter& filter, const Names& names) {
  for (const Filter& child : filter.children) {
    if (std::string guess = GuessIn(child, names); !guess.empty()) return guess;
  }
  if (filter.kind != Filter::Kind::kRestriction) return "";
  if (filter.field.starts_with(kParameter)) {
    return Guess("parameter", filter.field.substr(kParameter.size()), names.parameters, kParameter);
  }
  if (filter.comparator != Comparator::kEqual || filter.value.find('*') != std::string::npos) {
    return "";
  }
  if (filter.field == "benchmark") return Guess("benchmark", filter.value, names.benchmarks);
  if (filter.field == "metric") return Guess("metric", filter.value, names.metrics);
  return "";
}

}  // namespace

std::string GuessMisspelt(const Filter& filter, const v1::ListFleetBenchmarksResponse& fleet) {
  return GuessIn(filter, NamesOf(fleet));
}

}  // namespace assay::cli
