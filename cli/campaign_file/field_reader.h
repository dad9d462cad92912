// Reads single values of a campaign file and records what is wrong with them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/campaign_file/yaml_tree.h"
#include "cli/views/utf8.h"

namespace assay::cli {

// "a list", "a map", "nothing", or the quoted text.
std::string Describe(const YamlNode& node);

// Appends to the faults it was made with, which must outlive it.
class FieldReader {
 public:
  explicit FieldReader(std::vector<FileFault>& faults) : faults_(faults) {}

  void Fault(Position at, std::string field, std::string description);

  // `what` ("no such field"), with the name that was probably meant.
  void UnknownName(Position at, const std::string& field, const std::string& what,
                   const std::vector<std::string>& known);

  // True if `node` is a single value; else says that `wanted` belongs there.
  bool IsText(const YamlNode& node, const std::string& field, std::string_view wanted);

  // Index into `choices`, -1 after a fault.
  int Choice(const YamlNode& node, const std::string& field,
             const std::vector<std::string>& choices);

  // true or false; nullopt after a fault.
  std::optional<bool> Boolean(const YamlNode& node, const std::string& field);

  // A whole number from `least` to `most`; nullopt after a fault. Without `most`,
  // what is too much is the coordinator's to say.
  std::optional<int> Integer(const YamlNode& node, const std::string& field, int least,
                             std::optional<int> most = std::nullopt);

 private:
  std::vector<FileFault>& faults_;
};

}  // namespace assay::cli
