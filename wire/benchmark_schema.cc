#include "wire/benchmark_schema.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "common/digest.h"
#include "wire/bytes.h"

namespace assay::schema {
namespace {

Status Broken(const v1::BenchmarkSchema& schema, const std::string& fault) {
  return InvalidArgument("the schema of benchmark \"" + schema.name() + "\" is broken: " + fault,
                         Reason::kInvalidSchema);
}

// Schemas come from other machines. These limits bound the time to check schemas and cases.
constexpr int kMaxParameters = 64;
constexpr int kMaxConstraints = 64;  // Of one parameter.
constexpr int kMaxValues = 64;       // Of one list.
constexpr size_t kMaxReasonBytes = 1000;

bool IsTooLarge(const v1::ParameterSchema& parameter) {
  bool too_large =
      parameter.choices_size() > kMaxValues || parameter.constraints_size() > kMaxConstraints;
  for (const v1::ParameterConstraint& constraint : parameter.constraints()) {
    too_large = too_large || constraint.values_size() > kMaxValues ||
                constraint.choices_size() > kMaxValues ||
                constraint.reason().size() > kMaxReasonBytes;
  }
  return too_large;
}

Result<ParameterType> TypeOf(const v1::BenchmarkSchema& schema,
                             const v1::ParameterSchema& parameter) {
  switch (parameter.type()) {
    case v1::PARAMETER_TYPE_INTEGER:
      return ParameterType::kInteger;
    case v1::PARAMETER_TYPE_BYTES:
      return ParameterType::kBytes;
    case v1::PARAMETER_TYPE_CHOICE:
      return ParameterType::kChoice;
    case v1::PARAMETER_TYPE_BOOLEAN:
      return ParameterType::kBoolean;
    default:
      return Broken(schema, "parameter \"" + parameter.name() + "\" has the unknown type " +
                                std::to_string(static_cast<int>(parameter.type())));
  }
}

Constraint ConstraintOf(const v1::ParameterConstraint& message) {
  Constraint constraint;
  constraint.parameter = message.parameter();
  constraint.values.assign(message.values().begin(), message.values().end());
  constraint.choices.assign(message.choices().begin(), message.choices().end());
  if (message.has_maximum()) constraint.maximum = message.maximum();
  if (message.has_multiple()) constraint.multiple = message.multiple();
  constraint.reason = message.reason();
  return constraint;
}

Result<ParameterSpec> SpecOf(const v1::BenchmarkSchema& schema,
                             const v1::ParameterSchema& parameter) {
  ParameterSpec spec;
  spec.name = parameter.name();
  ASSAY_ASSIGN_OR_RETURN(spec.type, TypeOf(schema, parameter));
  spec.description = parameter.description();
  if (parameter.has_minimum()) spec.minimum = parameter.minimum();
  if (parameter.has_maximum()) spec.maximum = parameter.maximum();
  if (spec.minimum && spec.maximum && *spec.minimum > *spec.maximum) {
    return Broken(schema, "the minimum of parameter \"" + spec.name + "\" is above its maximum");
  }
  spec.choices.assign(parameter.choices().begin(), parameter.choices().end());
  if (spec.type == ParameterType::kChoice && spec.choices.empty()) {
    return Broken(schema, "parameter \"" + spec.name + "\" has no choices");
  }
  if (parameter.has_multiple()) spec.multiple = parameter.multiple();
  if (spec.multiple < 1) {
    return Broken(schema, "parameter \"" + spec.name + "\" has a multiple below 1");
  }
  if (parameter.has_default_value()) {
    const Result<std::string> canonical = CanonicalValue(spec, parameter.default_value());
    if (!canonical.ok()) {
      return Broken(schema, "the default of parameter \"" + spec.name +
                                "\": " + canonical.status().message());
    }
    spec.default_value = *canonical;
  }
  for (const v1::ParameterConstraint& constraint : parameter.constraints()) {
    spec.constraints.push_back(ConstraintOf(constraint));
  }
  return spec;
}

using SpecsByName = std::map<std::string_view, const ParameterSpec*>;

// Returns the first of `values` that is not a valid, canonical value of the parameter, or null if
// there is none.
const std::string* ImpossibleValue(const ParameterSpec& spec,
                                   const std::vector<std::string>& values) {
  for (const std::string& value : values) {
    const Result<std::string> canonical = CanonicalValue(spec, value);
    if (!canonical.ok() || *canonical != value) return &value;
  }
  return nullptr;
}

// Describes what is wrong with a constraint on the parameter `spec`, as the end of a sentence that
// begins with "a constraint". Returns an empty string if the constraint is valid.
std::string ErrorOf(const ParameterSpec& spec, const Constraint& constraint,
                    const SpecsByName& specs) {
  const auto other = specs.find(constraint.parameter);
  if (other == specs.end()) return "by \"" + constraint.parameter + "\", which is no parameter";
  if (other->second == &spec) return "by itself";
  if (const std::string* value = ImpossibleValue(*other->second, constraint.values)) {
    return "for \"" + *value + "\", which \"" + constraint.parameter + "\" does not accept";
  }
  if (const std::string* value = ImpossibleValue(spec, constraint.choices)) {
    return "to \"" + *value + "\", which it does not accept";
  }
  if (constraint.multiple < 1) return "to a multiple of " + std::to_string(constraint.multiple);
  const bool of_numbers = constraint.maximum || constraint.multiple > 1;
  return of_numbers && !spec.IsNumber() ? "to numbers, and is none" : "";
}

}  // namespace

Result<std::vector<ParameterSpec>> ParameterSpecs(const v1::BenchmarkSchema& schema) {
  std::vector<ParameterSpec> specs;
  std::set<std::string> names;
  if (schema.parameters_size() > kMaxParameters) {
    return Broken(schema, "it has too many parameters");
  }
  for (const v1::ParameterSchema& parameter : schema.parameters()) {
    if (IsTooLarge(parameter)) {
      return Broken(schema, "parameter \"" + parameter.name() +
                                "\" has too many choices, values or constraints, or too long a "
                                "reason for one");
    }
    if (parameter.name().empty()) return Broken(schema, "a parameter has no name");
    if (!names.insert(parameter.name()).second) {
      return Broken(schema, "parameter \"" + parameter.name() + "\" is declared twice");
    }
    ASSAY_ASSIGN_OR_RETURN(ParameterSpec spec, SpecOf(schema, parameter));
    specs.push_back(std::move(spec));
  }
  SpecsByName by_name;
  for (const ParameterSpec& spec : specs) by_name.emplace(spec.name, &spec);
  for (const ParameterSpec& spec : specs) {
    for (const Constraint& constraint : spec.constraints) {
      const std::string error = ErrorOf(spec, constraint, by_name);
      if (error.empty()) continue;
      return Broken(schema, "parameter \"" + spec.name + "\" has a constraint " + error);
    }
  }
  return specs;
}

Result<ParameterMap> CompleteParameters(const v1::BenchmarkSchema& schema,
                                        const ParameterMap& given) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<ParameterSpec> specs, ParameterSpecs(schema));
  return CanonicalParameters(specs, given);
}

std::string SchemasHash(const v1::Schemas& schemas) {
  return Sha256Hex(DeterministicBytes(schemas));
}

Status CheckCounters(const v1::BenchmarkSchema& schema) {
  const bool gpu = schema.resource() == v1::RESOURCE_KIND_GPU;
  if (gpu && !schema.collective()) return Status::Ok();
  return InvalidArgument(schema.name() +
                         (gpu ? " runs on several GPUs" : " does not run on a GPU") +
                         ", and hardware counters are read of benchmarks on one GPU");
}

}  // namespace assay::schema
