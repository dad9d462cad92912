#include "wire/benchmark_schema.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace assay::schema {
namespace {

Status Broken(const v1::BenchmarkSchema& schema, const std::string& fault) {
  return InvalidArgument("the schema of benchmark \"" + schema.name() + "\" is broken: " + fault,
                         "INVALID_SCHEMA");
}

// What a peer's schema may hold at most, so that checking it and its cases takes no time to speak
// of: parameters, limits of one, words or values of one, and other parameters that a limit names.
constexpr int kMostParameters = 64;
constexpr int kMostLimits = 64;
constexpr int kMostValues = 64;
constexpr int kMostNamed = 16;
constexpr size_t kMostText = 1000;  // Bytes, of what people are told.

bool IsTooLarge(const v1::ParameterLimit& limit) {
  bool too_large = limit.when_size() > kMostNamed || limit.times_size() > kMostNamed ||
                   limit.values_size() > kMostValues || limit.why().size() > kMostText;
  for (const v1::ParameterCondition& condition : limit.when()) {
    too_large = too_large || condition.values_size() > kMostValues;
  }
  return too_large;
}

bool IsTooLarge(const v1::ParameterSchema& parameter) {
  bool too_large = parameter.words_size() > kMostValues || parameter.limits_size() > kMostLimits;
  for (const v1::ParameterLimit& limit : parameter.limits()) {
    too_large = too_large || IsTooLarge(limit);
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
    case v1::PARAMETER_TYPE_WORD:
      return ParameterType::kWord;
    case v1::PARAMETER_TYPE_BOOLEAN:
      return ParameterType::kBoolean;
    default:
      return Broken(schema, "parameter \"" + parameter.name() + "\" has the unknown type " +
                                std::to_string(static_cast<int>(parameter.type())));
  }
}

// Not if a newer version asks of a parameter what this one does not know: the node checks that.
bool IsReadable(const v1::ParameterLimit& message) {
  return std::all_of(message.when().begin(), message.when().end(),
                     [](const v1::ParameterCondition& one) { return one.values_size() > 0; });
}

Limit LimitOf(const v1::ParameterLimit& message) {
  Limit limit;
  for (const v1::ParameterCondition& condition : message.when()) {
    std::vector<std::string>& values = limit.when[condition.parameter()];
    values.insert(values.end(), condition.values().begin(), condition.values().end());
  }
  limit.values.assign(message.values().begin(), message.values().end());
  if (message.has_minimum()) limit.minimum = message.minimum();
  if (message.has_maximum()) limit.maximum = message.maximum();
  limit.minimum_per = message.minimum_per();
  limit.why = message.why();
  limit.times.assign(message.times().begin(), message.times().end());
  return limit;
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
  spec.below = parameter.below();
  const v1::MultipleOf& of = parameter.multiple_of();
  if (of.has_number()) spec.multiple_of.number = of.number();
  spec.multiple_of.parameter = of.parameter();
  spec.multiple_of.of_words.insert(of.of_words().begin(), of.of_words().end());
  for (const v1::ParameterLimit& limit : parameter.limits()) {
    if (IsReadable(limit)) spec.limits.push_back(LimitOf(limit));
  }
  return spec;
}

bool IsNumber(const ParameterSpec& spec) {
  return spec.type == ParameterType::kInteger || spec.type == ParameterType::kBytes;
}

using SpecsByName = std::map<std::string_view, const ParameterSpec*>;

// What is wrong with the numbers that `spec` is a multiple of; empty if nothing is.
std::string FaultOfMultiple(const ParameterSpec& spec, const SpecsByName& specs) {
  const MultipleOf& of = spec.multiple_of;
  if (of.number < 1) return "is to be a multiple of " + std::to_string(of.number);
  if (of.parameter.empty()) {
    return of.of_words.empty() ? "" : "has multiples for words of no parameter";
  }
  const auto other = specs.find(of.parameter);
  const std::string what = "is to be a multiple of \"" + of.parameter + "\", which ";
  if (other == specs.end()) return what + "is no parameter";
  if (IsNumber(*other->second)) {
    if (!of.of_words.empty()) return what + "has no words";
    if (other->second == &spec) return what + "is itself";
    return other->second->minimum.value_or(0) < 1 ? what + "may be less than 1" : "";
  }
  if (other->second->type != ParameterType::kWord || of.of_words.empty()) {
    return what + "is neither a number nor words with numbers";
  }
  for (const auto& [word, number] : of.of_words) {
    if (number < 1) return what + "asks for a multiple of " + std::to_string(number);
  }
  return "";
}

// What is wrong with the ties of `spec` to others; empty if nothing is.
std::string FaultOfTies(const ParameterSpec& spec, const SpecsByName& specs) {
  const MultipleOf& of = spec.multiple_of;
  const bool tied =
      !spec.below.empty() || of.number != 1 || !of.parameter.empty() || !of.of_words.empty();
  if (!tied) return "";
  if (!IsNumber(spec)) return "is no number, and tied to one";
  if (!spec.below.empty()) {
    const auto other = specs.find(spec.below);
    const bool sound = other != specs.end() && IsNumber(*other->second) && other->second != &spec;
    if (!sound) return "is to be below \"" + spec.below + "\", which is no other number";
  }
  return FaultOfMultiple(spec, specs);
}

// One that `spec` never has, as it is no canonical value of it; empty if there is none.
std::string NeverHad(const ParameterSpec& spec, const std::vector<std::string>& values) {
  for (const std::string& value : values) {
    const Result<std::string> canonical = CanonicalValue(spec, value);
    if (!canonical.ok() || *canonical != value) return "\"" + value + "\"";
  }
  return "";
}

// What is wrong with a limit of `spec`; empty if nothing is.
std::string FaultOfLimit(const ParameterSpec& spec, const Limit& limit, const SpecsByName& specs) {
  for (const auto& [name, values] : limit.when) {
    const auto other = specs.find(name);
    const std::string what = "is limited by \"" + name + "\", which ";
    if (other == specs.end()) return what + "is no parameter";
    if (other->second == &spec) return what + "is itself";
    const std::string never = NeverHad(*other->second, values);
    if (!never.empty()) return what + "never is " + never;
  }
  const std::string never = NeverHad(spec, limit.values);
  if (!never.empty()) return "is limited to " + never + ", which it never is";
  const bool bounded = limit.minimum || limit.maximum;
  if (bounded && !IsNumber(spec)) return "is no number, and limited to some";
  const bool scaled = !limit.times.empty() || !limit.minimum_per.empty();
  if (limit.minimum && limit.maximum && !scaled && *limit.minimum > *limit.maximum) {
    return "is limited to nothing: at least " + std::to_string(*limit.minimum) + ", at most " +
           std::to_string(*limit.maximum);
  }
  // Signs would turn bounds round.
  if (!limit.minimum_per.empty() && limit.minimum.value_or(0) < 0) {
    return "is limited to less than 0 for each of \"" + limit.minimum_per + "\"";
  }
  if (!limit.times.empty() && spec.minimum.value_or(-1) < 0) {
    return "is limited times others, and may be less than 0";
  }
  std::vector<std::string> numbers = limit.times;
  if (!limit.minimum_per.empty()) numbers.push_back(limit.minimum_per);
  for (const std::string& name : numbers) {
    const auto other = specs.find(name);
    // A product may be of the number itself.
    const bool sound =
        other != specs.end() && IsNumber(*other->second) && other->second->minimum.value_or(0) >= 1;
    if (!sound) return "is limited by \"" + name + "\", which is no number of at least 1";
  }
  return "";
}

}  // namespace

Result<std::vector<ParameterSpec>> ParameterSpecs(const v1::BenchmarkSchema& schema) {
  std::vector<ParameterSpec> specs;
  std::set<std::string> names;
  if (schema.parameters_size() > kMostParameters)
    return Broken(schema, "it has too many parameters");
  for (const v1::ParameterSchema& parameter : schema.parameters()) {
    if (IsTooLarge(parameter)) {
      return Broken(schema, "parameter \"" + parameter.name() +
                                "\" has too many words, values or " +
                                "limits, or too long a reason for one");
    }
    if (parameter.name().empty()) return Broken(schema, "a parameter has no name");
    if (!names.insert(parameter.name()).second) {
      return Broken(schema, "parameter \"" + parameter.name() + "\" stands twice");
    }
    ASSAY_ASSIGN_OR_RETURN(ParameterSpec spec, SpecOf(schema, parameter));
    specs.push_back(std::move(spec));
  }
  SpecsByName by_name;
  for (const ParameterSpec& spec : specs) by_name.emplace(spec.name, &spec);
  for (const ParameterSpec& spec : specs) {
    std::string fault = FaultOfTies(spec, by_name);
    for (const Limit& limit : spec.limits) {
      if (fault.empty()) fault = FaultOfLimit(spec, limit, by_name);
    }
    if (!fault.empty()) return Broken(schema, "parameter \"" + spec.name + "\" " + fault);
  }
  return specs;
}

Result<ParameterMap> CompleteParameters(const v1::BenchmarkSchema& schema,
                                        const ParameterMap& given) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<ParameterSpec> specs, ParameterSpecs(schema));
  return CanonicalParameters(specs, given);
}

Status CheckCounters(const v1::BenchmarkSchema& schema) {
  const bool gpu = schema.resource() == v1::RESOURCE_KIND_GPU;
  if (gpu && !schema.collective()) return Status::Ok();
  return InvalidArgument(schema.name() +
                         (gpu ? " runs on several GPUs" : " does not run on a GPU") +
                         ", and hardware counters are read of benchmarks on one GPU");
}

}  // namespace assay::schema
