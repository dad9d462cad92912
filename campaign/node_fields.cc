#include "campaign/node_fields.h"

#include <fmt/format.h>

#include <array>
#include <set>

#include "common/text.h"
#include "model/parameter.h"

namespace assay::campaign {
namespace {

using schema::FieldType;
using schema::FieldValue;
using N = const v1::Node&;

FieldValue SupportedBenchmarks(N node) {
  FieldValue values;
  for (const v1::BenchmarkSchema& schema : node.description().benchmarks()) {
    if (schema.unsupported_reason().empty()) values.push_back(schema.name());
  }
  return values;
}

FieldValue GpuCount(N node) { return node.description().inventory().gpus_size(); }

constexpr std::string_view kLabel = "label.";

Status UnknownField(const std::string& field) {
  std::vector<std::string> names;
  for (const NodeFieldRow& row : NodeFields()) {
    names.push_back(std::string(row.name) + (row.type == FieldType::kMap ? ".NAME" : ""));
  }
  const std::string closest = ClosestName(field, names);
  return InvalidArgument("nodes have no field " + Quote(field), Reason::kUnknownField)
      .WithHint((closest.empty() ? "" : "did you mean " + closest + "? ") + "The fields are " +
                Join(names));
}

Result<FieldValue> ValueOf(const v1::Node& node, const std::string& field) {
  if (field.starts_with(kLabel) && field.size() > kLabel.size()) {
    FieldValue values;
    for (const auto& [name, value] : node.description().labels()) {
      // Filters contain field names in lower case, so the label's name is converted too.
      if (Lower(name) == field.substr(kLabel.size())) values.push_back(value);
    }
    return values;
  }
  for (const NodeFieldRow& row : NodeFields()) {
    if (row.name == field && row.type != FieldType::kMap) return row.Value(node);
  }
  return UnknownField(field);
}

// The operators' texts, indexed by Comparator.
constexpr std::array<std::string_view, 7> kSymbols = {"=", "!=", "<", "<=", ">", ">=", ":"};

// Explains how many nodes satisfy one condition of a filter, as in `gpu.model = "H300" holds for 0
// of 3 (they have H200, L4)`.
std::string ExplainRestriction(const Filter& restriction, const std::vector<v1::Node>& nodes) {
  std::set<std::string> values;
  size_t matching = 0;
  for (const v1::Node& node : nodes) {
    const auto lookup = [&](const std::string& field) { return NodeField(node, field); };
    const Result<bool> matches = Matches(restriction, lookup);
    if (matches.ok() && *matches) ++matching;
    const auto found = ValueOf(node, restriction.field);
    if (!found.ok() || found->is_null()) continue;
    for (const FieldValue& value : found->is_array() ? *found : FieldValue::array({*found})) {
      values.insert(schema::FieldText(value));
    }
  }
  std::string text = fmt::format("{} {} \"{}\" holds for {} of {}", restriction.field,
                                 kSymbols[static_cast<size_t>(restriction.comparator)],
                                 Cut(restriction.value), matching, nodes.size());
  if (matching == nodes.size()) return text;
  return text + (values.empty() ? " (no node has this field)"
                                : " (they have " + JoinSome({values.begin(), values.end()}) + ")");
}

void CollectRestrictions(const Filter& filter, std::vector<const Filter*>& found) {
  if (filter.kind == Filter::Kind::kRestriction) found.push_back(&filter);
  for (const Filter& child : filter.children) CollectRestrictions(child, found);
}

}  // namespace

const std::vector<NodeFieldRow>& NodeFields() {
  using enum FieldType;
  constexpr auto kNowhere = schema::StoredIn::kNowhere;
  static const std::vector<NodeFieldRow> fields = {
      {"id", kText, "", "id of the node", "description.node_id", kNowhere, ": *"},
      {"name", kText, "", "name of the node", "description.name", kNowhere, "= g3"},
      {"node_id", kText, "", "the same as id, as in filters over results", "description.node_id",
       kNowhere, ": *"},
      {"node", kText, "", "the same as name, as in filters over results", "description.name",
       kNowhere, "in (g3, g4)"},
      {"state", kText, "", "connected or disconnected", "state", kNowhere, "= connected"},
      {"agent_version", kVersion, "", "version of the agent", "description.agent_version", kNowhere,
       ">= 0.1"},
      {"benchmark",
       kTexts,
       "",
       "benchmarks that the node supports",
       "",
       kNowhere,
       "= gemm",
       {},
       SupportedBenchmarks},
      {"provider", kText, "", "who rents out the node", "description.provider", kNowhere,
       "= runpod"},
      {"region", kText, "", "where the node is", "description.region", kNowhere, "= eu"},
      {"price_per_hour", kNumber, "", "price of the node, in the fleet's currency",
       "description.price_per_hour", kNowhere, "< 2.5"},
      {"label", kMap, "", "labels of the agent, or as operators have set them",
       "description.labels", kNowhere, "label.rack = 7"},
      {"hostname", kText, "", "name of the host", "description.inventory.hostname", kNowhere,
       ": rack7"},
      {"kernel", kNameWithVersion, "", "version of the operating system's kernel",
       "description.inventory.kernel", kNowhere, "= 6.8*"},
      {"os", kText, "", "name of the operating system", "description.inventory.os", kNowhere,
       ": Debian"},
      {"simulated", kBoolean, "", "whether the node is simulated",
       "description.inventory.simulated", kNowhere, "= false"},
      {"gpu.count", kNumber, "", "number of GPUs", "", kNowhere, ">= 8", {}, GpuCount},
      {"gpu.model", kTexts, "", "models of the GPUs", "description.inventory.gpus.model", kNowhere,
       "= H200"},
      {"gpu.name", kTexts, "", "names of the GPUs as NVML reports them",
       "description.inventory.gpus.name", kNowhere, ": \"H200\""},
      {"gpu.uuid", kTexts, "", "UUIDs of the GPUs", "description.inventory.gpus.uuid", kNowhere,
       ": *"},
      {"gpu.form_factor", kTexts, "", "SXM or PCIe", "description.inventory.gpus.form_factor",
       kNowhere, "= SXM"},
      {"gpu.mig_profile", kTexts, "", "profiles of MIG instances",
       "description.inventory.gpus.mig_profile", kNowhere, ": *"},
      {"gpu.compute_capability", kTexts, "", "compute capabilities of the GPUs",
       "description.inventory.gpus.compute_capability", kNowhere, ">= 9.0"},
      {"gpu.memory_bytes", kTexts, "B", "memory of the GPUs",
       "description.inventory.gpus.memory_bytes", kNowhere, ">= 80000000000"},
      {"cpu.model", kText, "", "model of the CPU", "description.inventory.cpu.model", kNowhere,
       ": EPYC"},
      {"cpu.cores", kNumber, "", "physical cores that the agent may use",
       "description.inventory.cpu.cores", kNowhere, ">= 64"},
      {"cpu.threads", kNumber, "", "hardware threads that the agent may use",
       "description.inventory.cpu.threads", kNowhere, ">= 128"},
      {"cpu.sockets", kNumber, "", "number of sockets", "description.inventory.cpu.sockets",
       kNowhere, "= 2"},
      {"cpu.vector_isa", kText, "", "best vector extension: avx512f, avx2, sse2",
       "description.inventory.cpu.vector_isa", kNowhere, "= avx512f"},
      {"memory_bytes", kNumber, "B", "memory of the host", "description.inventory.memory_bytes",
       kNowhere, ">= 256000000000"},
      {"driver", kVersion, "", "version of the NVIDIA driver",
       "description.inventory.driver_version", kNowhere, ">= 580.95"},
      {"driver_cuda", kVersion, "", "newest CUDA version that the driver supports",
       "description.inventory.driver_cuda_version", kNowhere, ">= 13"},
      {"cuda", kVersion, "", "version of the CUDA runtime",
       "description.inventory.software.cuda_runtime", kNowhere, ">= 13"},
      {"nccl", kVersion, "", "version of NCCL", "description.inventory.software.nccl", kNowhere,
       ">= 2.28"},
      {"cublas", kVersion, "", "version of cuBLAS", "description.inventory.software.cublas",
       kNowhere, ">= 13.1"},
  };
  return fields;
}

Result<std::vector<std::string>> NodeField(const v1::Node& node, const std::string& field) {
  ASSAY_ASSIGN_OR_RETURN(const FieldValue value, ValueOf(node, field));
  return schema::FilterValues(value);
}

Status CheckNodeFilter(const Filter& filter) {
  std::vector<const Filter*> restrictions;
  CollectRestrictions(filter, restrictions);
  for (const Filter* restriction : restrictions) {
    if (const auto known = NodeField(v1::Node(), restriction->field); !known.ok()) {
      return known.status();
    }
  }
  return Status::Ok();
}

Result<bool> NodeMatches(const Filter& filter, const v1::Node& node) {
  return Matches(filter, [&](const std::string& field) { return NodeField(node, field); });
}

Result<std::vector<v1::Node>> MatchingNodes(const Filter& filter,
                                            const std::vector<v1::Node>& nodes) {
  // Every field is checked, even if the fleet is empty or an AND stops early.
  ASSAY_RETURN_IF_ERROR(CheckNodeFilter(filter));
  std::vector<v1::Node> matching;
  for (const v1::Node& node : nodes) {
    ASSAY_ASSIGN_OR_RETURN(const bool matches, NodeMatches(filter, node));
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

}  // namespace assay::campaign
