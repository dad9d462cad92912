#include "coordinator/core/placement/node_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <set>

#include "common/text.h"
#include "model/parameter.h"

namespace assay::coordinator {
namespace {

using Values = std::vector<std::string>;
using Reader = std::function<Values(const v1::Node&)>;

Values IfAny(const std::string& text) { return text.empty() ? Values() : Values{text}; }

const v1::NodeInventory& Inventory(const v1::Node& node) { return node.description().inventory(); }

// Reads one value off each GPU of the node.
Reader EachGpu(std::function<std::string(const v1::GpuInventory&)> read) {
  return [read = std::move(read)](const v1::Node& node) {
    Values values;
    for (const v1::GpuInventory& gpu : Inventory(node).gpus()) {
      if (std::string value = read(gpu); !value.empty()) values.push_back(std::move(value));
    }
    return values;
  };
}

Values SupportedBenchmarks(const v1::Node& node) {
  Values values;
  for (const v1::BenchmarkSchema& schema : node.description().benchmarks()) {
    if (schema.unsupported_reason().empty()) values.push_back(schema.name());
  }
  return values;
}

std::map<std::string, Reader> GpuReaders() {
  return {
      {"gpu.count",
       [](const v1::Node& n) { return Values{std::to_string(Inventory(n).gpus_size())}; }},
      {"gpu.model", EachGpu([](const auto& gpu) { return gpu.model(); })},
      {"gpu.name", EachGpu([](const auto& gpu) { return gpu.name(); })},
      {"gpu.uuid", EachGpu([](const auto& gpu) { return gpu.uuid(); })},
      {"gpu.form_factor", EachGpu([](const auto& gpu) { return gpu.form_factor(); })},
      {"gpu.mig_profile", EachGpu([](const auto& gpu) { return gpu.mig_profile(); })},
      {"gpu.compute_capability", EachGpu([](const auto& gpu) { return gpu.compute_capability(); })},
      {"gpu.memory_bytes", EachGpu([](const auto& gpu) {
         return gpu.has_memory_bytes() ? std::to_string(gpu.memory_bytes()) : "";
       })},
  };
}

std::map<std::string, Reader> HostReaders() {
  return {
      {"cpu.model", [](const v1::Node& n) { return IfAny(Inventory(n).cpu().model()); }},
      {"cpu.cores",
       [](const v1::Node& n) { return Values{std::to_string(Inventory(n).cpu().cores())}; }},
      {"cpu.threads",
       [](const v1::Node& n) { return Values{std::to_string(Inventory(n).cpu().threads())}; }},
      {"cpu.sockets",
       [](const v1::Node& n) { return Values{std::to_string(Inventory(n).cpu().sockets())}; }},
      {"cpu.vector_isa", [](const v1::Node& n) { return IfAny(Inventory(n).cpu().vector_isa()); }},
      {"memory_bytes",
       [](const v1::Node& n) {
         return Inventory(n).has_memory_bytes()
                    ? Values{std::to_string(Inventory(n).memory_bytes())}
                    : Values();
       }},
      {"hostname", [](const v1::Node& n) { return IfAny(Inventory(n).hostname()); }},
      {"kernel", [](const v1::Node& n) { return IfAny(Inventory(n).kernel()); }},
      {"os", [](const v1::Node& n) { return IfAny(Inventory(n).os()); }},
      {"driver", [](const v1::Node& n) { return IfAny(Inventory(n).driver_version()); }},
      {"cuda", [](const v1::Node& n) { return IfAny(Inventory(n).driver_cuda_version()); }},
      {"nccl", [](const v1::Node& n) { return IfAny(Inventory(n).software().nccl()); }},
      {"cublas", [](const v1::Node& n) { return IfAny(Inventory(n).software().cublas()); }},
      {"simulated",
       [](const v1::Node& n) { return Values{Inventory(n).simulated() ? "true" : "false"}; }},
  };
}

const std::map<std::string, Reader>& Readers() {
  static const std::map<std::string, Reader> readers = [] {
    std::map<std::string, Reader> all = {
        {"id", [](const v1::Node& n) { return IfAny(n.description().node_id()); }},
        {"name", [](const v1::Node& n) { return IfAny(n.description().name()); }},
        {"state",
         [](const v1::Node& n) {
           return Values{n.state() == v1::NODE_STATE_CONNECTED ? "connected" : "disconnected"};
         }},
        {"agent_version", [](const v1::Node& n) { return IfAny(n.description().agent_version()); }},
        {"benchmark", SupportedBenchmarks},
        {"provider", [](const v1::Node& n) { return IfAny(n.description().provider()); }},
        {"region", [](const v1::Node& n) { return IfAny(n.description().region()); }},
        {"price_per_hour",
         [](const v1::Node& n) {
           return n.description().has_price_per_hour()
                      ? Values{fmt::format("{}", n.description().price_per_hour())}
                      : Values();
         }},
    };
    all.merge(GpuReaders());
    all.merge(HostReaders());
    return all;
  }();
  return readers;
}

std::string_view Symbol(Comparator comparator) {
  switch (comparator) {
    case Comparator::kEqual:
      return "=";
    case Comparator::kNotEqual:
      return "!=";
    case Comparator::kLess:
      return "<";
    case Comparator::kLessOrEqual:
      return "<=";
    case Comparator::kGreater:
      return ">";
    case Comparator::kGreaterOrEqual:
      return ">=";
    case Comparator::kHas:
      return ":";
  }
  return "?";
}

// "gpu.model = "H300" holds for none of them (they have H200, L4)".
std::string ExplainRestriction(const Filter& restriction, const std::vector<v1::Node>& nodes) {
  std::set<std::string> values;
  size_t matching = 0;
  for (const v1::Node& node : nodes) {
    const auto lookup = [&](const std::string& field) { return NodeField(node, field); };
    const Result<bool> matches = Matches(restriction, lookup);
    if (matches.ok() && *matches) ++matching;
    if (const auto found = NodeField(node, restriction.field); found.ok()) {
      values.insert(found->begin(), found->end());
    }
  }
  std::string text =
      fmt::format("{} {} \"{}\" holds for {} of {}", restriction.field,
                  Symbol(restriction.comparator), Cut(restriction.value), matching, nodes.size());
  if (matching == nodes.size()) return text;
  return text + (values.empty() ? " (no node has this field)"
                                : " (they have " + JoinSome({values.begin(), values.end()}) + ")");
}

void CollectRestrictions(const Filter& filter, std::vector<const Filter*>& found) {
  if (filter.kind == Filter::Kind::kRestriction) found.push_back(&filter);
  for (const Filter& child : filter.children) CollectRestrictions(child, found);
}

}  // namespace

Result<std::vector<std::string>> NodeField(const v1::Node& node, const std::string& field) {
  static constexpr std::string_view kLabel = "label.";
  if (field.size() > kLabel.size() && field.compare(0, kLabel.size(), kLabel) == 0) {
    Values values;
    for (const auto& [key, value] : node.description().labels()) {
      // The filter language folds field names to lower case.
      if (Lower(key) == field.substr(kLabel.size())) values.push_back(value);
    }
    return values;
  }
  const auto reader = Readers().find(field);
  if (reader != Readers().end()) return reader->second(node);

  std::vector<std::string> names;
  for (const auto& [name, unused] : Readers()) names.push_back(name);
  const std::string closest = ClosestName(field, names);
  return InvalidArgument(fmt::format("nodes have no field \"{}\"{}", Cut(field),
                                     closest.empty() ? "" : "; did you mean " + closest + "?"),
                         "UNKNOWN_FIELD")
      .WithHint("fields of a node: " + Join(names) + ", label.NAME");
}

Result<std::vector<v1::Node>> MatchingNodes(const Filter& filter,
                                            const std::vector<v1::Node>& nodes) {
  // Every field is checked, also on an empty fleet and where AND stops early.
  std::vector<const Filter*> restrictions;
  CollectRestrictions(filter, restrictions);
  for (const Filter* restriction : restrictions) {
    if (const auto known = NodeField(v1::Node(), restriction->field); !known.ok()) {
      return known.status();
    }
  }
  std::vector<v1::Node> matching;
  for (const v1::Node& node : nodes) {
    ASSAY_ASSIGN_OR_RETURN(const bool matches, Matches(filter, [&](const std::string& field) {
                             return NodeField(node, field);
                           }));
    if (matches) matching.push_back(node);
  }
  return matching;
}

std::string ExplainNoMatch(const Filter& filter, const std::vector<v1::Node>& nodes) {
  if (nodes.empty()) return "no node is connected";
  std::vector<std::string> names;
  for (const v1::Node& node : nodes) names.push_back(node.description().name());
  std::string text =
      fmt::format("matches none of the {} connected nodes ({})", nodes.size(), JoinSome(names));
  std::vector<const Filter*> restrictions;
  CollectRestrictions(filter, restrictions);
  constexpr size_t kMost = 8;
  for (size_t i = 0; i < restrictions.size() && i < kMost; ++i) {
    text += "; " + ExplainRestriction(*restrictions[i], nodes);
  }
  return text;
}

}  // namespace assay::coordinator
