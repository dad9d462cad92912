#include "campaign/fleet_schemas.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "wire/benchmark_schema.h"

namespace assay::campaign {
namespace {

// The nodes that declare one version of a benchmark.
struct VersionNodes {
  int able = 0;  // Nodes that can run it.
  int all = 0;
  int64_t known_since = INT64_MAX;              // When the first of these nodes joined.
  std::map<std::string, int> nodes_by_content;  // Declarations, without the reasons of one node.
};

// Returns the schema that most of the version's nodes declare.
v1::BenchmarkSchema SchemaOf(const VersionNodes& version) {
  const auto most =
      std::max_element(version.nodes_by_content.begin(), version.nodes_by_content.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  v1::BenchmarkSchema schema;
  schema.ParseFromString(most->first);
  return schema;
}

}  // namespace

std::vector<v1::BenchmarkSchema> FleetSchemas(const std::vector<v1::Node>& nodes,
                                              const std::function<bool(const v1::Node&)>& counts) {
  std::map<std::string, std::map<int, VersionNodes>> benchmarks;
  std::map<std::string, bool> well_formed;  // By content.
  for (const v1::Node& node : nodes) {
    if (!counts(node)) continue;
    for (const v1::BenchmarkSchema& own : node.description().benchmarks()) {
      v1::BenchmarkSchema schema = own;
      schema.clear_unsupported_reason();
      const std::string content = schema.SerializeAsString();
      const auto [known, fresh] = well_formed.try_emplace(content, false);
      if (fresh) known->second = !own.name().empty() && schema::ParameterSpecs(schema).ok();
      if (!known->second) continue;
      VersionNodes& version = benchmarks[own.name()][own.version()];
      version.able += own.unsupported_reason().empty() ? 1 : 0;
      ++version.all;
      const int64_t since =
          node.has_first_seen_time() ? node.first_seen_time().seconds() : INT64_MAX;
      version.known_since = std::min(version.known_since, since);
      ++version.nodes_by_content[content];
    }
  }
  std::vector<v1::BenchmarkSchema> schemas;
  for (const auto& [name, versions] : benchmarks) {
    const auto chosen =
        std::max_element(versions.begin(), versions.end(), [](const auto& a, const auto& b) {
          const auto rank = [](const auto& version) {
            return std::tuple(version.second.able, version.second.all, -version.second.known_since,
                              version.first);
          };
          return rank(a) < rank(b);
        });
    schemas.push_back(SchemaOf(chosen->second));
  }
  return schemas;
}

}  // namespace assay::campaign
