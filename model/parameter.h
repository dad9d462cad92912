// Defines which values a benchmark's parameter accepts, and one canonical text for each value. All
// programs of Assay share these rules, so that "1GiB" and "1073741824" mean the same everywhere.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace assay {

enum class ParameterType {
  kInteger,
  kBytes,   // An integer number of bytes. "4GiB" and "1MB" are accepted as input.
  kChoice,  // One of a closed set of words.
  kBoolean,
};

// Limits a parameter further while another parameter has certain values. Example: with variant =
// "warp", columns must be at most 32.
struct Constraint {
  // The rule holds where `parameter` has one of `values`, which are canonical.
  std::string parameter;
  std::vector<std::string> values;
  // The limits: the value must be one of `choices` unless that is empty, at most `maximum`, and a
  // multiple of `multiple`.
  std::vector<std::string> choices = {};
  std::optional<int64_t> maximum = {};
  int64_t multiple = 1;
  std::string reason = {};  // For users; may be empty.
};

struct ParameterSpec {
  std::string name;
  ParameterType type = ParameterType::kInteger;
  std::string description;
  // Canonical. Absent if users must give the parameter.
  std::optional<std::string> default_value;
  // Inclusive bounds of kInteger and kBytes.
  std::optional<int64_t> minimum;
  std::optional<int64_t> maximum;
  // Allowed values of kChoice.
  std::vector<std::string> choices;
  // kInteger and kBytes: the value must be a multiple of this number.
  int64_t multiple = 1;
  std::vector<Constraint> constraints = {};

  bool IsNumber() const { return type == ParameterType::kInteger || type == ParameterType::kBytes; }
};

// Canonical values by parameter name.
using ParameterMap = std::map<std::string, std::string>;

// Returns the canonical form of a parameter's value `text`: numbers and bytes in decimal, choices
// as declared, booleans as "true" or "false". The error says which values are allowed.
Result<std::string> CanonicalValue(const ParameterSpec& spec, std::string_view text);

// Describes how the canonical `values` of a case violate the constraints of the parameter `spec`.
// The text follows the parameter's name: "is nn; with dtype int8 it must be nt". Returns "" if they
// are met. Skips constraints that depend on parameters not in `values`.
std::string ConstraintError(const ParameterSpec& spec, const ParameterMap& values);

// Returns all parameters in canonical form, with defaults for those not in `given`. The error has
// one violation for each mistake (unknown names, wrong values, violated constraints), whose `field`
// is the parameter's name.
Result<ParameterMap> CanonicalParameters(const std::vector<ParameterSpec>& specs,
                                         const ParameterMap& given);

// Returns the error INVALID_ARGUMENT (INVALID_PARAMETER) for the parameter `name`. In the message,
// `error` follows the name: "is 4; it must be below ranks, which is 4".
Status InvalidParameter(const std::string& name, const std::string& error);

// Describes the values that a parameter accepts: "one of bf16, fp16", "a whole number from 0 to
// 4095", "a multiple of 4B from 8B to 8GiB", or "2" if that is the only number.
std::string AllowedValues(const ParameterSpec& spec);

// Describes each constraint of `spec`: "with variant warp: at most 32 (one lane per column)".
std::vector<std::string> ConstraintTexts(const ParameterSpec& spec);

}  // namespace assay
