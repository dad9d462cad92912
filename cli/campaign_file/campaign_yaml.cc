// Writes campaign files.
#include <yaml-cpp/emitter.h>
#include <yaml-cpp/stlemitter.h>

#include <map>

#include "cli/campaign_file/campaign_fields.h"
#include "cli/campaign_file/campaign_file.h"
#include "cli/views/format.h"

namespace assay::cli {
namespace {

using Kind = CampaignField::Kind;

// Writes the variables by name, so that the file does not depend on the order of the map.
void WriteNccl(YAML::Emitter& out, const google::protobuf::Map<std::string, std::string>& nccl) {
  const std::map<std::string, std::string> sorted(nccl.begin(), nccl.end());
  out << YAML::Key << "nccl" << YAML::Value << YAML::Flow << sorted;
}

// Writes the word of an enumerator. Writes nothing for 0, which is _UNSPECIFIED.
void WriteChoice(YAML::Emitter& out, std::string_view field, int enumerator) {
  const std::vector<std::string>& choices = ChoicesOf(field);
  const auto index = static_cast<size_t>(enumerator) - 1;
  if (index >= choices.size()) return;
  out << YAML::Key << std::string(field) << YAML::Value << choices[index];
}

void WriteRange(YAML::Emitter& out, const v1::ValueRange& range) {
  out << YAML::Flow << YAML::BeginMap;
  out << YAML::Key << "from" << YAML::Value << range.from();
  out << YAML::Key << "to" << YAML::Value << range.to();
  const bool geometric = !range.factor().empty();
  out << YAML::Key << (geometric ? "factor" : "step");
  out << YAML::Value << (geometric ? range.factor() : range.step());
  out << YAML::EndMap;
}

void WriteAxis(YAML::Emitter& out, const v1::ParameterAxis& axis) {
  out << YAML::Key << axis.name() << YAML::Value;
  const auto& values = axis.list().values();
  if (axis.has_range()) {
    WriteRange(out, axis.range());
  } else if (!axis.has_list()) {
    out << "=" + axis.same_as();
  } else if (values.size() == 1 && values[0].substr(0, 1) != "=") {
    out << values[0];
  } else {
    out << YAML::Flow << std::vector<std::string>(values.begin(), values.end());
  }
}

void WriteBenchmark(YAML::Emitter& out, const v1::BenchmarkMatrix& matrix) {
  const bool has_options = !matrix.gpu_indices().empty() || matrix.has_counters() ||
                           !matrix.nccl().empty() || matrix.unplaceable() != 0;
  if (matrix.axes().empty() && !has_options) {
    out << matrix.benchmark();
    return;
  }
  out << YAML::BeginMap << YAML::Key << matrix.benchmark() << YAML::Value << YAML::BeginMap;
  for (const v1::ParameterAxis& axis : matrix.axes()) WriteAxis(out, axis);
  if (!matrix.gpu_indices().empty()) {
    const auto& gpus = matrix.gpu_indices();
    out << YAML::Key << "gpus" << YAML::Value << YAML::Flow;
    out << std::vector<int>(gpus.begin(), gpus.end());
  }
  if (matrix.has_counters()) out << YAML::Key << "counters" << YAML::Value << matrix.counters();
  if (!matrix.nccl().empty()) WriteNccl(out, matrix.nccl());
  WriteChoice(out, "unplaceable", matrix.unplaceable());
  out << YAML::EndMap << YAML::EndMap;
}

void WriteLists(YAML::Emitter& out, Kind kind, const v1::CampaignSpec& spec) {
  if (kind == Kind::kNccl && !spec.nccl().empty()) WriteNccl(out, spec.nccl());
  if (kind == Kind::kBenchmarks) {
    out << YAML::Key << "benchmarks" << YAML::Value << YAML::BeginSeq;
    for (const v1::BenchmarkMatrix& matrix : spec.benchmarks()) WriteBenchmark(out, matrix);
    out << YAML::EndSeq;
  }
  if (kind == Kind::kRules && !spec.accept().empty()) {
    out << YAML::Key << "accept" << YAML::Value << YAML::BeginSeq;
    for (const v1::AcceptRule& rule : spec.accept()) out << rule.text();
    out << YAML::EndSeq;
  }
}

// Writes a top-level field unless it has its default. The spec's fields have the file's names.
void WriteField(YAML::Emitter& out, const CampaignField& field, const v1::CampaignSpec& spec) {
  const std::string name(field.name);
  const auto* in_spec =
      spec.GetDescriptor()->FindFieldByName(name == "nodes" ? "node_filter" : name);
  const auto* values = spec.GetReflection();
  const auto key = [&]() -> YAML::Emitter& { return out << YAML::Key << name << YAML::Value; };
  switch (field.kind) {
    case Kind::kText:
      if (const std::string text = values->GetString(spec, in_spec); !text.empty()) key() << text;
      break;
    case Kind::kChoice:
      WriteChoice(out, field.name, values->GetEnumValue(spec, in_spec));
      break;
    case Kind::kInteger: {
      const int number = values->GetInt32(spec, in_spec);
      if (number != 0 && std::to_string(number) != field.default_text) key() << number;
      break;
    }
    case Kind::kBoolean:
      if (values->GetBool(spec, in_spec)) key() << true;
      break;
    case Kind::kDuration:
      if (spec.has_timeout()) {
        const double fraction = static_cast<double>(spec.timeout().nanos()) * 1e-9;
        key() << FormatExact(static_cast<double>(spec.timeout().seconds()) + fraction) + "s";
      }
      break;
    default:
      WriteLists(out, field.kind, spec);
  }
}

}  // namespace

std::string CampaignYaml(const v1::CampaignSpec& spec) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  for (const CampaignField& field : CampaignFields()) WriteField(out, field, spec);
  out << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

}  // namespace assay::cli
