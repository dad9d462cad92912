#include "cli/views/filter_guess.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "common/text.h"
#include "model/parameter.h"

namespace assay::cli {
namespace {

constexpr std::string_view kParameter = "parameters.";

struct KnownNames {
  std::vector<std::string> benchmarks;
  std::vector<std::string> metrics;
  std::vector<std::string> parameters;
};

KnownNames NamesOf(const v1::ListFleetBenchmarksResponse& fleet) {
  KnownNames names;
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

std::string GuessIn(const Filter& filter, const KnownNames& names) {
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

// Returns the node names that `filter` selects, without duplicates.
void CollectNames(const Filter& filter, std::vector<std::string>& names) {
  if (filter.kind == Filter::Kind::kNot) return;
  for (const Filter& child : filter.children) CollectNames(child, names);
  if (filter.kind == Filter::Kind::kRestriction &&
      (filter.field == "name" || filter.field == "node") &&
      filter.comparator == Comparator::kEqual && filter.value.find('*') == std::string::npos &&
      std::find(names.begin(), names.end(), filter.value) == names.end()) {
    names.push_back(filter.value);
  }
}

}  // namespace

std::vector<std::string> UnknownNodes(const Filter& filter, const std::vector<v1::Node>& nodes) {
  std::vector<std::string> wanted;
  CollectNames(filter, wanted);
  std::vector<std::string> known;
  for (const v1::Node& node : nodes) known.push_back(node.description().name());
  std::vector<std::string> lines;
  for (const std::string& name : wanted) {
    // Compares like the coordinator: "1.0" equals "1".
    const auto has_name = [&](const v1::Node& node) {
      return CompareValues(node.description().name(), name) == 0;
    };
    if (std::any_of(nodes.begin(), nodes.end(), has_name)) continue;
    const std::string closest = ClosestName(name, known);
    lines.push_back("no node is called " + Quote(name) +
                    (closest.empty() ? "" : "; did you mean " + Quote(closest) + "?"));
  }
  return lines;
}

std::string GuessMisspelt(const Filter& filter, const v1::ListFleetBenchmarksResponse& fleet) {
  return GuessIn(filter, NamesOf(fleet));
}

}  // namespace assay::cli
