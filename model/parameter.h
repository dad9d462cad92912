// Defines which values a benchmark parameter accepts, and a canonical form for each. All Assay
// programs share these rules, so that "1GiB" and "1073741824" mean the same everywhere.
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

// An additional restriction on a parameter that applies only if another parameter has certain
// values. For example, if the parameter "variant" is "warp", the parameter "columns" must be at
// most 32.
struct Constraint {
  // The condition: the restrictions apply if the other parameter, `parameter`, has one of `values`,
  // which are in canonical form.
  std::string parameter;
  std::vector<std::string> values;
  // The restrictions: the value must be one of `choices` (if there are any), at most `maximum`, and
  // a multiple of `multiple`.
  std::vector<std::string> choices = {};
  std::optional<int64_t> maximum = {};
  int64_t multiple = 1;
  std::string reason = {};  // For users; may be empty.
};

struct ParameterSpec {
  std::string name;
  ParameterType type = ParameterType::kInteger;
  std::string description;
  // The default in canonical form, or nullopt if users must give a value.
  std::optional<std::string> default_value;
  // The inclusive bounds of a kInteger or kBytes parameter.
  std::optional<int64_t> minimum;
  std::optional<int64_t> maximum;
  // The allowed values of a kChoice parameter.
  std::vector<std::string> choices;
  // The value of a kInteger or kBytes parameter must be a multiple of this number.
  int64_t multiple = 1;
  std::vector<Constraint> constraints = {};

  bool IsNumber() const { return type == ParameterType::kInteger || type == ParameterType::kBytes; }
};

// The values of parameters, in canonical form, by the parameters' names.
using ParameterMap = std::map<std::string, std::string>;

// Converts `text`, the value of a parameter, to its canonical form. Numbers and sizes become
// decimal numbers, choices are spelled as declared, and booleans are "true" or "false". The error
// says which values are allowed.
Result<std::string> CanonicalValue(const ParameterSpec& spec, std::string_view text);

// Describes how the value of the parameter `spec` violates its constraints, worded to follow the
// parameter's name, such as "is nn; with dtype int8 it must be nt". Returns "" if no constraint is
// violated. `values` holds the values of this and other parameters in canonical form. Ignores
// constraints that depend on a parameter without a value.
std::string ConstraintError(const ParameterSpec& spec, const ParameterMap& values);

// Returns all parameters in canonical form, with default values for those not in `given`. If
// `given` contains mistakes, such as unknown names or invalid values, the error lists each one as a
// violation whose `field` is the parameter's name.
Result<ParameterMap> CanonicalParameters(const std::vector<ParameterSpec>& specs,
                                         const ParameterMap& given);

// Returns an INVALID_ARGUMENT (INVALID_PARAMETER) error for the parameter `name`. The message is
// the name followed by `error`, such as "is 4; it must be below ranks, which is 4".
Status InvalidParameter(const std::string& name, const std::string& error);

// Describes the values that a parameter accepts, for example "one of bf16, fp16", "a whole number
// from 0 to 4095" or "a multiple of 4B from 8B to 8GiB". If only one number is allowed, returns
// that number.
std::string AllowedValues(const ParameterSpec& spec);

// Describes each constraint of `spec`, for example "with variant warp: at most 32 (one lane per
// column)".
std::vector<std::string> ConstraintTexts(const ParameterSpec& spec);

}  // namespace assay
