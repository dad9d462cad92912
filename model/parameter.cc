#include "model/parameter.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "common/text.h"
#include "common/units.h"

namespace assay {
namespace {

// Joins `parts` with commas, except for the last two, which are joined with `last`. For example,
// returns "a, b or c" if `last` is " or ".
std::string JoinLast(const std::vector<std::string>& parts, std::string_view last) {
  if (parts.size() < 2) return Join(parts);
  const std::vector<std::string> front(parts.begin(), parts.end() - 1);
  return Join(front).append(last) + parts.back();
}

std::string JoinOr(const std::vector<std::string>& parts) { return JoinLast(parts, " or "); }

bool Contains(const std::vector<std::string>& all, std::string_view one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

std::string FormatNumber(ParameterType type, int64_t number) {
  return type == ParameterType::kBytes ? FormatBytes(number) : std::to_string(number);
}

// Returns Assay's name for an element type that is known by another name elsewhere, such as "fp64"
// for "double". Returns "" for any other text.
std::string ShortTypeName(std::string_view text) {
  static const std::map<std::string_view, std::string> names = {
      {"float64", "fp64"}, {"double", "fp64"}, {"float32", "fp32"}, {"float", "fp32"},
      {"float16", "fp16"}, {"half", "fp16"},   {"bfloat16", "bf16"}};
  const auto found = names.find(text);
  return found == names.end() ? "" : found->second;
}

// Returns true if `value` is a multiple of `multiple`. A `multiple` below 1, which schemas from
// other programs may contain, means no restriction.
bool IsMultiple(int64_t value, int64_t multiple) { return multiple < 1 || value % multiple == 0; }

// Describes the values that a constraint allows, such as "nt", "at most 32" or "a multiple of 16".
std::string RuleText(const ParameterSpec& spec, const Constraint& constraint) {
  std::vector<std::string> parts;
  if (!constraint.choices.empty()) parts.push_back(JoinOr(constraint.choices));
  if (constraint.maximum) {
    parts.push_back("at most " + FormatNumber(spec.type, *constraint.maximum));
  }
  if (constraint.multiple > 1) {
    parts.push_back("a multiple of " + FormatNumber(spec.type, constraint.multiple));
  }
  return JoinLast(parts, " and ");
}

bool Allows(const Constraint& constraint, const std::string& value) {
  if (!constraint.choices.empty() && !Contains(constraint.choices, value)) return false;
  const Result<int64_t> number = ParseInteger(value);
  if (!number.ok()) return true;
  return (!constraint.maximum || *number <= *constraint.maximum) &&
         IsMultiple(*number, constraint.multiple);
}

Status NotAllowed(const ParameterSpec& spec, std::string_view text) {
  std::string message = "\"" + std::string(text.substr(0, 64)) + "\" is not " + AllowedValues(spec);
  const std::string meant = ShortTypeName(text);
  if (Contains(spec.choices, meant)) message += "; did you mean \"" + meant + "\"?";
  return InvalidArgument(std::move(message), Reason::kInvalidParameter);
}

}  // namespace

std::string AllowedValues(const ParameterSpec& spec) {
  if (spec.type == ParameterType::kChoice) {
    return (spec.choices.size() > 1 ? "one of " : "") + Join(spec.choices);
  }
  if (spec.type == ParameterType::kBoolean) return "true or false";
  const bool one = spec.minimum && spec.maximum && *spec.minimum == *spec.maximum;
  if (one) return FormatNumber(spec.type, *spec.minimum);
  std::string text = spec.type == ParameterType::kBytes ? "a size" : "a whole number";
  if (spec.multiple > 1) text = "a multiple of " + FormatNumber(spec.type, spec.multiple);
  if (spec.minimum && spec.maximum) {
    text += " from " + FormatNumber(spec.type, *spec.minimum) + " to " +
            FormatNumber(spec.type, *spec.maximum);
  } else if (spec.minimum) {
    text += " of at least " + FormatNumber(spec.type, *spec.minimum);
  } else if (spec.maximum) {
    text += " of at most " + FormatNumber(spec.type, *spec.maximum);
  }
  return text;
}

Result<std::string> CanonicalValue(const ParameterSpec& spec, std::string_view text) {
  if (spec.type == ParameterType::kChoice) {
    if (!Contains(spec.choices, text)) return NotAllowed(spec, text);
    return std::string(text);
  }
  if (spec.type == ParameterType::kBoolean) {
    if (text != "true" && text != "false") return NotAllowed(spec, text);
    return std::string(text);
  }
  const Result<int64_t> number =
      spec.type == ParameterType::kBytes ? ParseBytes(text) : ParseInteger(text);
  if (!number.ok() || (spec.minimum && *number < *spec.minimum) ||
      (spec.maximum && *number > *spec.maximum) || !IsMultiple(*number, spec.multiple)) {
    return NotAllowed(spec, text);
  }
  return std::to_string(*number);
}

std::string ConstraintError(const ParameterSpec& spec, const ParameterMap& values) {
  const auto value = values.find(spec.name);
  if (value == values.end()) return "";
  for (const Constraint& constraint : spec.constraints) {
    const auto other = values.find(constraint.parameter);
    if (other == values.end() || !Contains(constraint.values, other->second)) continue;
    if (Allows(constraint, value->second)) continue;
    return "is " + value->second + "; with " + constraint.parameter + " " + other->second +
           " it must be " + RuleText(spec, constraint) +
           (constraint.reason.empty() ? "" : ": " + constraint.reason);
  }
  return "";
}

std::vector<std::string> ConstraintTexts(const ParameterSpec& spec) {
  std::vector<std::string> texts;
  for (const Constraint& constraint : spec.constraints) {
    texts.push_back("with " + constraint.parameter + " " + JoinOr(constraint.values) + ": " +
                    RuleText(spec, constraint) +
                    (constraint.reason.empty() ? "" : " (" + constraint.reason + ")"));
  }
  return texts;
}

Status InvalidParameter(const std::string& name, const std::string& error) {
  return InvalidArgument("invalid parameters: " + name + ": " + error, Reason::kInvalidParameter)
      .WithViolations({{name, error, 0}});
}

Result<ParameterMap> CanonicalParameters(const std::vector<ParameterSpec>& specs,
                                         const ParameterMap& given) {
  std::vector<Violation> violations;
  std::vector<std::string> names;
  for (const ParameterSpec& spec : specs) names.push_back(spec.name);
  for (const auto& [name, text] : given) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string closest = ClosestName(name, names);
    violations.push_back(
        {name,
         "no such parameter; " +
             (closest.empty() ? "there are " + Join(names) : "did you mean \"" + closest + "\"?"),
         0});
  }
  ParameterMap canonical;
  for (const ParameterSpec& spec : specs) {
    const auto found = given.find(spec.name);
    if (found == given.end()) {
      if (spec.default_value) {
        canonical[spec.name] = *spec.default_value;
      } else {
        violations.push_back({spec.name, "is required: " + AllowedValues(spec), 0});
      }
      continue;
    }
    const Result<std::string> value = CanonicalValue(spec, found->second);
    if (value.ok()) {
      canonical[spec.name] = *value;
    } else {
      violations.push_back({spec.name, value.status().message(), 0});
    }
  }
  if (violations.empty()) {
    for (const ParameterSpec& spec : specs) {
      if (std::string error = ConstraintError(spec, canonical); !error.empty()) {
        violations.push_back({spec.name, std::move(error), 0});
      }
    }
  }
  if (!violations.empty()) {
    const std::string first = violations.front().field + ": " + violations.front().description;
    return InvalidArgument("invalid parameters: " + first, Reason::kInvalidParameter)
        .WithViolations(std::move(violations));
  }
  return canonical;
}

}  // namespace assay
