// Reads single values of a campaign file and records their faults.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/campaign_file/yaml_tree.h"
#include "cli/views/utf8.h"

namespace assay::cli {

// Describes a value for a message: "a list", "a map", "nothing", or the quoted text.
std::string Describe(const YamlNode& node);

// Appends faults to the list given to the constructor, which must outlive it.
class FieldReader {
 public:
  explicit FieldReader(std::vector<FileFault>& faults) : faults_(faults) {}

  void Fault(Position at, std::string field, std::string description);

  // Records the fault `what` ("no such field") with the closest known name.
  void UnknownName(Position at, const std::string& field, const std::string& what,
                   const std::vector<std::string>& known);

  // Returns true if `node` is a single value. Otherwise records that `wanted` was expected.
  bool IsText(const YamlNode& node, const std::string& field, std::string_view wanted);

  // Returns an index into `choices`, -1 after a fault.
  int Choice(const YamlNode& node, const std::string& field,
             const std::vector<std::string>& choices);

  // Returns nullopt after a fault.
  std::optional<bool> Boolean(const YamlNode& node, const std::string& field);

  // Reads a whole number from `least` to `most`. Returns nullopt after a fault. Without `most`, the
  // coordinator checks the upper bound.
  std::optional<int> Integer(const YamlNode& node, const std::string& field, int least,
                             std::optional<int> most = std::nullopt);

 private:
  std::vector<FileFault>& faults_;
};

}  // namespace assay::cli
