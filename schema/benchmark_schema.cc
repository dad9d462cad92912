#include "schema/benchmark_schema.h"

#include <set>
#include <string>
#include <utility>

namespace assay::schema {
namespace {

Status Broken(const v1::BenchmarkSchema& schema, const std::string& fault) {
  return InvalidArgument("the schema of benchmark \"" + schema.name() + "\" is broken: " + fault,
                         "INVALID_SCHEMA");
}

Result<ParameterType> TypeOf(const v1::BenchmarkSchema& schema,
                             const v1::ParameterSchema& parameter) {
  switch (parameter.type()) {
    case v1::PARAMETER_TYPE_INTEGER:
      return ParameterType::kInteger;
    case v1::PARAMETER_TYPE_BYTES:
      return ParameterType::kBytes;
    case v1::PARAMETER_TYPE_WORD:
      return ParameterType::kWord;
    case v1::PARAMETER_TYPE_BOOLEAN:
      return ParameterType::kBoolean;
    default:
      return Broken(schema, "parameter \"" + parameter.name() + "\" has the unknown type " +
                                std::to_string(static_cast<int>(parameter.type())));
  }
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
  spec.words.assign(parameter.words().begin(), parameter.words().end());
  if (spec.type == ParameterType::kWord && spec.words.empty()) {
    return Broken(schema, "parameter \"" + spec.name + "\" has no words to choose from");
  }
  if (parameter.has_default_value()) {
    const Result<std::string> canonical = CanonicalValue(spec, parameter.default_value());
    if (!canonical.ok()) {
      return Broken(schema, "the default of parameter \"" + spec.name +
                                "\": " + canonical.status().message());
    }
    spec.default_value = *canonical;
  }
  return spec;
}

}  // namespace

Result<std::vector<ParameterSpec>> ParameterSpecs(const v1::BenchmarkSchema& schema) {
  std::vector<ParameterSpec> specs;
  std::set<std::string> names;
  for (const v1::ParameterSchema& parameter : schema.parameters()) {
    if (parameter.name().empty()) return Broken(schema, "a parameter has no name");
    if (!names.insert(parameter.name()).second) {
      return Broken(schema, "parameter \"" + parameter.name() + "\" stands twice");
    }
    ASSAY_ASSIGN_OR_RETURN(ParameterSpec spec, SpecOf(schema, parameter));
    specs.push_back(std::move(spec));
  }
  return specs;
}

Result<ParameterMap> CompleteParameters(const v1::BenchmarkSchema& schema,
                                        const ParameterMap& given) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<ParameterSpec> specs, ParameterSpecs(schema));
  return CanonicalParameters(specs, given);
}

}  // namespace assay::schema
