#include "cli/campaign_file/nccl_entry.h"

#include <algorithm>

#include "common/text.h"
#include "model/nccl_variables.h"

namespace assay::cli {
namespace {

constexpr size_t kMaxNameBytes = 64;

bool IsVariableName(const std::string& text) {
  return !text.empty() && text.size() <= kMaxNameBytes &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
         });
}

}  // namespace

void ReadNccl(const YamlNode& value, const std::string& field, const std::string& spec_field,
              FieldReader& reader, google::protobuf::Map<std::string, std::string>& settings,
              google::protobuf::Map<std::string, int>& lines) {
  if (value.kind != YamlNode::Kind::kMap || value.entries.empty()) {
    const bool empty = value.kind == YamlNode::Kind::kMap;
    reader.Fault(value.at, field,
                 "found " + (empty ? "an empty map" : Describe(value)) +
                     "; write NCCL's variables, for example {NCCL_ALGO: Ring}, or leave it out");
    return;
  }
  for (const YamlNode::Entry& entry : value.entries) {
    const std::string path = field + "." + Sanitize(entry.key);
    if (entry.value.faulty) continue;
    if (!IsVariableName(entry.key)) {
      reader.Fault(entry.at, path,
                   Quote(entry.key) +
                       " is not the name of a variable; names are upper-case letters, digits "
                       "and _, for example NCCL_ALGO");
    } else if (reader.IsText(entry.value, path, "a value, for example Ring")) {
      if (entry.value.text.empty()) {
        reader.Fault(entry.value.at, path, "is empty; give a value, or leave the line out");
        continue;
      }
      const Status sound = CheckNcclVariable(entry.key, entry.value.text);
      if (!sound.ok()) {
        reader.Fault(entry.value.at, path, sound.message());
        continue;
      }
      settings[entry.key] = entry.value.text;
      lines[spec_field + "." + entry.key] = entry.at.line;
    }
  }
}

}  // namespace assay::cli
