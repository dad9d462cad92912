#include "wire/bounds.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "common/text.h"
#include "common/violations.h"

namespace assay::schema {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using Limits = std::map<std::string_view, size_t>;

constexpr size_t kKiB = 1024;
constexpr size_t kMaxOtherText = kKiB;     // Bytes of a text that is not in the table.
constexpr size_t kMaxOtherEntries = 4096;  // Entries of a list or map that is not in the table.
constexpr size_t kMaxNameBytes = 200;

// Limits by the full name of a message or field: in bytes for messages and texts, and in entries
// for lists and maps.
const Limits& MessageLimits() {
  static const Limits limits = {
      {"assay.v1.AgentState", 1024 * kKiB}, {"assay.v1.CampaignSpec", 2048 * kKiB},
      {"assay.v1.CaseResult", 4096 * kKiB}, {"assay.v1.Hello", 256 * kKiB},
      {"assay.v1.JobFinished", 256 * kKiB},
  };
  return limits;
}

const Limits& TextLimits() {
  static const Limits limits = {
      {"assay.v1.AcceptRule.text", 16 * kKiB},
      {"assay.v1.BenchmarkSchema.model", 4 * kKiB},
      {"assay.v1.CampaignSpec.node_filter", 16 * kKiB},
      {"assay.v1.CaseResult.kernels", 16 * kKiB},  // Names of C++ templates.
      {"assay.v1.Failure.evidence", 64 * kKiB},
      {"assay.v1.Failure.message", 8 * kKiB},
      {"assay.v1.GangReady.rendezvous_token", 64 * kKiB},
      {"assay.v1.HealthFinding.message", 4 * kKiB},
      {"assay.v1.NodeDescription.LabelsEntry.key", 256},
      {"assay.v1.NodeDescription.LabelsEntry.value", 256},
      {"assay.v1.NodeDescription.name", kMaxNameBytes},
  };
  return limits;
}

const Limits& EntryLimits() {
  static const Limits limits = {
      {"assay.v1.CampaignSpec.lines", 65'536},   {"assay.v1.JobSpec.cases", 100'000},
      {"assay.v1.Measurement.samples", 524'288}, {"assay.v1.NodeDescription.benchmarks", 256},
      {"assay.v1.NodeDescription.health", 256},  {"assay.v1.NodeDescription.labels", 64},
      {"assay.v1.NodeChecked.health", 256},      {"assay.v1.NodeInventory.gpus", 64},
      {"assay.v1.ValueList.values", 65'536},
  };
  return limits;
}

size_t LimitOf(const Limits& limits, std::string_view name, size_t otherwise) {
  const auto found = limits.find(name);
  return found == limits.end() ? otherwise : found->second;
}

size_t EntryLimit(const FieldDescriptor& field) {
  return LimitOf(EntryLimits(), field.full_name(), kMaxOtherEntries);
}

size_t TextLimit(const FieldDescriptor& field) {
  return LimitOf(TextLimits(), field.full_name(), kMaxOtherText);
}

std::vector<const FieldDescriptor*> FieldsOf(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  return fields;
}

// Adds the first field of `message` that is beyond its bound. `path` ends with a dot or is empty.
void Check(const Message& message, const std::string& path, Violations& violations) {
  const std::string& type = message.GetDescriptor()->full_name();
  const size_t bytes = message.ByteSizeLong();
  if (const size_t most = LimitOf(MessageLimits(), type, SIZE_MAX); bytes > most) {
    violations.Add(path.empty() ? message.GetDescriptor()->name() : path.substr(0, path.size() - 1),
                   "has " + std::to_string(bytes) + " bytes; the limit is " + std::to_string(most),
                   0);
    return;
  }
  const Reflection& reflection = *message.GetReflection();
  for (const FieldDescriptor* field : FieldsOf(message)) {
    const bool list = field->is_repeated();
    const auto count = static_cast<size_t>(list ? reflection.FieldSize(message, field) : 1);
    if (count > EntryLimit(*field)) {
      violations.Add(path + field->name(),
                     "has " + std::to_string(count) + " entries; the limit is " +
                         std::to_string(EntryLimit(*field)),
                     0);
    }
    const bool text = field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
    if (!text && field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    for (size_t i = 0; i < count && violations.empty(); ++i) {
      const int at = static_cast<int>(i);
      const std::string name = path + field->name() + (list ? "[" + std::to_string(i) + "]" : "");
      if (!text) {
        Check(list ? reflection.GetRepeatedMessage(message, field, at)
                   : reflection.GetMessage(message, field),
              name + ".", violations);
        continue;
      }
      std::string scratch;
      const size_t size =
          list ? reflection.GetRepeatedStringReference(message, field, at, &scratch).size()
               : reflection.GetStringReference(message, field, &scratch).size();
      if (size > TextLimit(*field)) {
        violations.Add(name,
                       "has " + std::to_string(size) + " bytes; the limit is " +
                           std::to_string(TextLimit(*field)),
                       0);
      }
    }
    if (!violations.empty()) return;
  }
}

void CutText(Message& message, const FieldDescriptor* field, int at) {
  const Reflection& reflection = *message.GetReflection();
  const bool list = field->is_repeated();
  std::string text = list ? reflection.GetRepeatedString(message, field, at)
                          : reflection.GetString(message, field);
  if (text.size() <= TextLimit(*field)) return;
  text = Cut(text, TextLimit(*field) - 3);  // Leaves room for "...".
  if (list) {
    reflection.SetRepeatedString(&message, field, at, std::move(text));
  } else {
    reflection.SetString(&message, field, std::move(text));
  }
}

}  // namespace

Status CheckBounds(const Message& message, Reason reason) {
  Violations violations;
  Check(message, "", violations);
  return violations.ToStatus("the message", reason);
}

void CutToBounds(Message& message) {
  const Reflection& reflection = *message.GetReflection();
  for (const FieldDescriptor* field : FieldsOf(message)) {
    const bool list = field->is_repeated();
    while (list && static_cast<size_t>(reflection.FieldSize(message, field)) > EntryLimit(*field)) {
      reflection.RemoveLast(&message, field);
    }
    const int count = list ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
        CutText(message, field, i);
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        CutToBounds(list ? *reflection.MutableRepeatedMessage(&message, field, i)
                         : *reflection.MutableMessage(&message, field));
      }
    }
  }
}

bool IsNodeName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes && name.front() != ' ' &&
         name.back() != ' ' &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace assay::schema
