// What a benchmark's parameter accepts, and the one canonical text of each value.
// Runner, coordinator and CLI share it, so that "1GiB" and "1073741824" are the
// same case wherever they are written.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace assay {

enum class ParameterType { kInteger, kBytes, kWord, kBoolean };

struct ParameterSpec {
  std::string name;
  ParameterType type = ParameterType::kInteger;
  std::string description;
  // Canonical; absent means that the parameter must be given.
  std::optional<std::string> default_value;
  // Inclusive bounds of kInteger and kBytes.
  std::optional<int64_t> minimum;
  std::optional<int64_t> maximum;
  // Allowed values of kWord.
  std::vector<std::string> words;
};

// Canonical values by parameter name.
using ParameterMap = std::map<std::string, std::string>;

// `text` in canonical form: integers and bytes in decimal, words as declared,
// booleans "true" or "false". The error says what is allowed.
Result<std::string> CanonicalValue(const ParameterSpec& spec, std::string_view text);

// Checks names and values of `given` and fills in defaults. The error has one
// violation a fault, `field` being the parameter's name.
Result<ParameterMap> CanonicalParameters(const std::vector<ParameterSpec>& specs,
                                         const ParameterMap& given);

// "one of bf16, fp16", "a whole number from 1 to 65536", "a size from 8B to 8GiB"; "2" where
// that is the only number.
std::string AllowedValues(const ParameterSpec& spec);

// Which of `names` the user probably meant by `name`; empty if none is close.
std::string ClosestName(std::string_view name, const std::vector<std::string>& names);

}  // namespace assay
