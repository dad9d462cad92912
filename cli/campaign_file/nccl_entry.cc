#include "cli/campaign_file/nccl_entry.h"

#include "common/text.h"
#include "model/nccl_variables.h"

namespace assay::cli {
void ReadNccl(const YamlNode& value, const std::string& field, const std::string& spec_field,
              FieldReader& reader, google::protobuf::Map<std::string, std::string>& settings,
              google::protobuf::Map<std::string, int>& lines) {
  if (value.kind != YamlNode::Kind::kMap || value.entries.empty()) {
    const bool empty = value.kind == YamlNode::Kind::kMap;
    reader.Fault(value.at, field,
                 "found " + (empty ? "an empty map" : Describe(value)) +
                     "; expected variables of NCCL, for example {NCCL_ALGO: Ring}");
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
