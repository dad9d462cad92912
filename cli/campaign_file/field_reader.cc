#include "cli/campaign_file/field_reader.h"

#include <algorithm>
#include <limits>

#include "common/text.h"
#include "common/units.h"
#include "model/nccl_variables.h"
#include "model/parameter.h"

namespace assay::cli {

namespace {

// Describes a value for a message: "a list", "an empty map", "nothing", or the quoted text.
std::string Describe(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kScalar:
      return Quote(node.text);
    case YamlNode::Kind::kSequence:
      return node.items.empty() ? "an empty list" : "a list";
    case YamlNode::Kind::kMap:
      return node.entries.empty() ? "an empty map" : "a map";
  }
  return "";
}

}  // namespace

void FieldReader::Fault(Position at, std::string field, std::string description) {
  faults_.push_back({at, std::move(field), std::move(description)});
}

void FieldReader::UnknownName(Position at, const std::string& field, const std::string& what,
                              const std::vector<std::string>& known) {
  const std::string name = field.substr(field.rfind('.') + 1);
  const std::string closest = ClosestName(name, known);
  Fault(at, field,
        what + "; " + (closest.empty() ? "" : "did you mean " + Quote(closest) + "? ") +
            "Allowed: " + Join(known));
}

bool FieldReader::IsText(const YamlNode& node, const std::string& field, std::string_view wanted) {
  if (node.faulty) return false;
  if (node.kind == YamlNode::Kind::kScalar) return true;
  Unexpected(node, field, std::string(wanted));
  return false;
}

void FieldReader::Unexpected(const YamlNode& node, const std::string& field,
                             const std::string& wanted) {
  Fault(node.at, field, "found " + Describe(node) + "; write " + wanted);
}

int FieldReader::Choice(const YamlNode& node, const std::string& field,
                        const std::vector<std::string>& choices) {
  const std::string wanted = "one of " + Join(choices);
  if (!IsText(node, field, wanted)) return -1;
  const auto found = std::find(choices.begin(), choices.end(), node.text);
  if (found != choices.end()) return static_cast<int>(found - choices.begin());
  Fault(node.at, field, Quote(node.text) + " is not " + wanted);
  return -1;
}

std::optional<bool> FieldReader::Boolean(const YamlNode& node, const std::string& field) {
  const int choice = Choice(node, field, {"true", "false"});
  if (choice < 0) return std::nullopt;
  return choice == 0;
}

std::optional<int> FieldReader::Integer(const YamlNode& node, const std::string& field, int least,
                                        std::optional<int> most) {
  constexpr int kLeast = std::numeric_limits<int>::min();
  constexpr int kMost = std::numeric_limits<int>::max();
  std::string wanted = "a whole number";
  if (most) {
    wanted += " from " + std::to_string(least) + " to " + std::to_string(*most);
  } else if (least != kLeast) {
    wanted += " of at least " + std::to_string(least);
  }
  if (!IsText(node, field, wanted)) return std::nullopt;
  const Result<int64_t> number = ParseInteger(node.text);
  if (number.ok() && *number >= least && *number <= most.value_or(kMost))
    return static_cast<int>(*number);
  const bool too_big = number.ok() && *number > kMost && !most;
  Fault(node.at, field, Quote(node.text) + (too_big ? " is too big" : " is not " + wanted));
  return std::nullopt;
}

void ReadNccl(const YamlNode& value, const std::string& field, const std::string& spec_field,
              FieldReader& reader, google::protobuf::Map<std::string, std::string>& settings,
              google::protobuf::Map<std::string, int>& lines) {
  if (value.kind != YamlNode::Kind::kMap || value.entries.empty()) {
    reader.Unexpected(value, field, "variables of NCCL, for example {NCCL_ALGO: Ring}");
    return;
  }
  for (const YamlNode::Entry& entry : value.entries) {
    const std::string path = field + "." + Sanitize(entry.key);
    if (entry.value.faulty) continue;
    if (!reader.IsText(entry.value, path, "a value, for example Ring")) continue;
    const Status checked = CheckNcclVariable(entry.key, entry.value.text);
    if (!checked.ok()) {
      reader.Fault(entry.value.at, path, checked.message());
      continue;
    }
    settings[entry.key] = entry.value.text;
    lines[spec_field + "." + entry.key] = entry.at.line;
  }
}

}  // namespace assay::cli
