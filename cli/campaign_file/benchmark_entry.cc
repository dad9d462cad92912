#include <algorithm>

#include "cli/campaign_file/campaign_fields.h"
#include "cli/campaign_file/field_reader.h"
#include "common/text.h"

namespace assay::cli {
namespace {

constexpr size_t kMaxNameBytes = 64;

// Returns whether a text can be the name of a benchmark or a parameter.
bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes && text[0] >= 'a' && text[0] <= 'z' &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

bool CheckName(FieldReader& reader, Position at, const std::string& field, const std::string& name,
               const char* what) {
  if (IsName(name)) return true;
  reader.Fault(at, field,
               Quote(name) + " is not the name of a " + what +
                   "; names are lower-case letters, digits and _");
  return false;
}

void ReadRange(const YamlNode& value, const std::string& field, FieldReader& reader,
               v1::ValueRange& range) {
  const std::vector<std::string> known = {"from", "to", "factor", "step"};
  for (const YamlNode::Entry& entry : value.entries) {
    const std::string path = field + "." + Sanitize(entry.key);
    std::string* into = entry.key == "from"     ? range.mutable_from()
                        : entry.key == "to"     ? range.mutable_to()
                        : entry.key == "factor" ? range.mutable_factor()
                        : entry.key == "step"   ? range.mutable_step()
                                                : nullptr;
    if (into == nullptr) {
      reader.UnknownName(entry.at, path, "not part of a range", known);
    } else if (reader.IsText(entry.value, path, "a number")) {
      *into = entry.value.text;
      if (into->empty()) reader.Fault(entry.value.at, path, "is empty; write a number");
    }
  }
  const auto given = [&value](std::string_view key) {
    return std::any_of(value.entries.begin(), value.entries.end(),
                       [key](const auto& entry) { return entry.key == key; });
  };
  for (const char* needed : {"from", "to"}) {
    if (!given(needed))
      reader.Fault(value.at, field, "a range needs \"" + std::string(needed) + "\"");
  }
  if (given("factor") == given("step")) {
    reader.Fault(value.at, field,
                 given("factor") ? "has both \"factor\" and \"step\"; a range has one of them"
                                 : "a range needs \"factor\" or \"step\"");
  }
}

void ReadList(const YamlNode& value, const std::string& field, FieldReader& reader,
              v1::ValueList& list) {
  if (value.items.empty()) {
    reader.Fault(value.at, field, "an empty list leaves nothing to run; give at least one value");
  }
  for (size_t i = 0; i < value.items.size(); ++i) {
    const std::string path = field + "[" + std::to_string(i) + "]";
    if (reader.IsText(value.items[i], path, "a single value")) list.add_values(value.items[i].text);
  }
}

// Reads a single value, or `=other` to copy another parameter.
void ReadScalar(const YamlNode::Entry& entry, const std::string& field, FieldReader& reader,
                v1::ParameterAxis& axis) {
  const std::string& text = entry.value.text;
  if (text.empty()) {
    reader.Fault(entry.value.at, field, "is empty; give a value");
  } else if (text[0] != '=') {
    axis.mutable_list()->add_values(text);
  } else if (text.substr(1) == entry.key) {
    reader.Fault(entry.value.at, field, "refers to itself; name another parameter after =");
  } else if (CheckName(reader, entry.value.at, field, text.substr(1), "parameter")) {
    axis.set_same_as(text.substr(1));
  }
}

void ReadAxis(const YamlNode::Entry& entry, const std::string& field, FieldReader& reader,
              v1::BenchmarkMatrix& matrix) {
  if (!CheckName(reader, entry.at, field, entry.key, "parameter") || entry.value.faulty) return;
  v1::ParameterAxis* axis = matrix.add_axes();
  axis->set_name(entry.key);
  axis->set_line(entry.at.line);
  switch (entry.value.kind) {
    case YamlNode::Kind::kScalar:
      ReadScalar(entry, field, reader, *axis);
      break;
    case YamlNode::Kind::kSequence:
      ReadList(entry.value, field, reader, *axis->mutable_list());
      break;
    case YamlNode::Kind::kMap:
      ReadRange(entry.value, field, reader, *axis->mutable_range());
      break;
    case YamlNode::Kind::kNull:
      reader.Unexpected(entry.value, field, "a value, [a, list], {from, to, factor} or =other");
      break;
  }
}

void ReadGpus(const YamlNode& value, const std::string& field, FieldReader& reader,
              v1::BenchmarkMatrix& matrix) {
  const auto add = [&](const YamlNode& item, const std::string& path) {
    const std::optional<int> index = reader.Integer(item, path, 0);
    if (!index) return;
    const auto& known = matrix.gpu_indices();
    if (std::find(known.begin(), known.end(), *index) != known.end()) {
      reader.Fault(item.at, path, "GPU " + std::to_string(*index) + " is listed twice");
      return;
    }
    matrix.add_gpu_indices(*index);
  };
  if (value.kind == YamlNode::Kind::kScalar) {
    add(value, field);
  } else if (value.kind != YamlNode::Kind::kSequence || value.items.empty()) {
    reader.Unexpected(value, field,
                      "GPU indices, for example [0, 1], or leave it out for all GPUs");
  } else {
    for (size_t i = 0; i < value.items.size(); ++i) {
      add(value.items[i], field + "[" + std::to_string(i) + "]");
    }
  }
}

// Reads the parameters of the entry that was added last.
void ReadParameters(const YamlNode& parameters, const std::string& field, FieldReader& reader,
                    v1::CampaignSpec& spec) {
  const int position = spec.benchmarks_size() - 1;
  v1::BenchmarkMatrix& matrix = *spec.mutable_benchmarks(position);
  if (parameters.kind == YamlNode::Kind::kNull || parameters.faulty) return;
  if (parameters.kind != YamlNode::Kind::kMap) {
    reader.Unexpected(parameters, field,
                      "the parameters as a map, for example {m: 4096, dtype: bf16}");
    return;
  }
  for (const YamlNode::Entry& entry : parameters.entries) {
    const std::string path = field + "." + Sanitize(entry.key);
    if (entry.key == "gpus") {
      ReadGpus(entry.value, path, reader, matrix);
    } else if (entry.key == "counters") {
      if (const auto wanted = reader.Boolean(entry.value, path)) matrix.set_counters(*wanted);
    } else if (entry.key == "unplaceable") {
      matrix.set_unplaceable(ReadUnplaceable(entry.value, path, reader));
    } else if (entry.key == "nccl") {
      if (entry.value.faulty) continue;
      ReadNccl(entry.value, path, "benchmarks[" + std::to_string(position) + "].nccl", reader,
               *matrix.mutable_nccl(), *spec.mutable_lines());
    } else {
      ReadAxis(entry, path, reader, matrix);
    }
  }
}

void ReadEntry(const YamlNode& item, const std::string& field, FieldReader& reader,
               v1::CampaignSpec& spec) {
  if (item.faulty) return;
  const bool is_map = item.kind == YamlNode::Kind::kMap;
  if (item.kind != YamlNode::Kind::kScalar && !is_map) {
    reader.Unexpected(item, field, "a benchmark's name, or \"NAME: {parameter: value}\"");
    return;
  }
  if (is_map && item.entries.size() != 1) {
    std::vector<std::string> names;
    for (const YamlNode::Entry& entry : item.entries) names.push_back(Quote(entry.key));
    reader.Fault(item.at, field,
                 "found " + std::to_string(names.size()) + " names (" + Join(names) +
                     ") in one entry; start each benchmark with \"- \" and indent its parameters "
                     "below it");
    return;
  }
  const std::string& name = is_map ? item.entries[0].key : item.text;
  const Position at = is_map ? item.entries[0].at : item.at;
  if (!CheckName(reader, at, field, name, "benchmark")) return;
  v1::BenchmarkMatrix* matrix = spec.add_benchmarks();
  matrix->set_benchmark(name);
  matrix->set_line(at.line);
  if (is_map) ReadParameters(item.entries[0].value, field + "." + name, reader, spec);
}

}  // namespace

v1::Unplaceable ReadUnplaceable(const YamlNode& value, const std::string& field,
                                FieldReader& reader) {
  const int choice = reader.Choice(value, field, ChoicesOf("unplaceable"));
  return choice < 0    ? v1::UNPLACEABLE_UNSPECIFIED
         : choice == 0 ? v1::UNPLACEABLE_REFUSE
                       : v1::UNPLACEABLE_SKIP;
}

void ReadBenchmarks(const YamlNode& value, FieldReader& reader, v1::CampaignSpec& spec) {
  if (value.kind != YamlNode::Kind::kSequence || value.items.empty()) {
    reader.Unexpected(value, "benchmarks",
                      "at least one benchmark, each on a line that starts with \"- \"");
    return;
  }
  for (size_t i = 0; i < value.items.size(); ++i) {
    ReadEntry(value.items[i], "benchmarks[" + std::to_string(i) + "]", reader, spec);
  }
}

}  // namespace assay::cli
