#include "kernels/declaration.h"

namespace assay {

Rule OneOf(std::vector<std::string> choices) { return {std::move(choices), {}, 1}; }
Rule AtMost(int64_t maximum) { return {{}, maximum, 1}; }
Rule MultipleOf(int64_t multiple) { return {{}, {}, multiple}; }

Parameter::Parameter(std::string name, ParameterType type) {
  spec_.name = std::move(name);
  spec_.type = type;
}

Parameter Parameter::Integer(std::string name) {
  return Parameter(std::move(name), ParameterType::kInteger);
}

Parameter Parameter::Bytes(std::string name) {
  return Parameter(std::move(name), ParameterType::kBytes);
}

Parameter Parameter::Boolean(std::string name) {
  return Parameter(std::move(name), ParameterType::kBoolean).Default("false");
}

Parameter Parameter::Choice(std::string name, std::vector<std::string> choices) {
  Parameter parameter(std::move(name), ParameterType::kChoice);
  if (!choices.empty()) parameter.spec_.default_value = choices.front();
  parameter.spec_.choices = std::move(choices);
  return parameter;
}

Parameter& Parameter::Default(const std::string& value) {
  // Ignore the parameter's bounds here, because they may be set after the default. A test checks
  // that the default is within them.
  ParameterSpec unbounded = spec_;
  unbounded.minimum.reset();
  unbounded.maximum.reset();
  unbounded.multiple = 1;
  const Result<std::string> canonical = CanonicalValue(unbounded, value);
  spec_.default_value = canonical.ok() ? *canonical : value;
  return *this;
}

Parameter& Parameter::Default(int64_t value) { return Default(std::to_string(value)); }

Parameter& Parameter::With(std::string other, std::vector<std::string> values, Rule rule,
                           std::string reason) {
  spec_.constraints.push_back({std::move(other), std::move(values), std::move(rule.choices),
                               rule.maximum, rule.multiple, std::move(reason)});
  return *this;
}

Declaration::Declaration(std::string name, Resource resource)
    : work_([](const ParameterMap&, int) { return Work(); }),
      validate_([](const ParameterMap&) { return Status::Ok(); }) {
  info_.name = std::move(name);
  info_.resource = resource;
}

Declaration& Declaration::Needs(Library library) {
  info_.libraries.push_back(library);
  return *this;
}

Declaration& Declaration::Metrics(std::vector<Metric> metrics) {
  info_.metrics = std::move(metrics);
  for (const Metric& metric : info_.metrics) {
    if (metric.name == TimeMetric().name) return *this;
  }
  info_.metrics.push_back(TimeMetric());
  return *this;
}

Declaration& Declaration::SelfTestAlso(ParameterMap changes) {
  info_.selftest_variants.push_back(std::move(changes));
  return *this;
}

Declaration& Declaration::Example(ParameterMap parameters, Work work) {
  info_.examples.push_back({std::move(parameters), work});
  return *this;
}

Declaration& Declaration::Refuses(ParameterMap parameters, std::string parameter) {
  info_.refused.push_back({std::move(parameters), std::move(parameter)});
  return *this;
}

DeclaredBenchmark::DeclaredBenchmark(Declaration declaration, CaseFactory new_case,
                                     ReasonFunction unsupported)
    : declaration_(std::move(declaration)), new_case_(new_case), unsupported_(unsupported) {}

Status DeclaredBenchmark::Validate(const ParameterMap& parameters) const {
  return declaration_.validate_(parameters);
}

Result<Work> DeclaredBenchmark::WorkOf(const ParameterMap& parameters, int world_size) const {
  return declaration_.work_(parameters, world_size);
}

Result<std::unique_ptr<Case>> DeclaredBenchmark::Prepare(const RunContext& context) const {
  if (new_case_ == nullptr) return Unsupported(unsupported_(Info()));
  if (Info().collective && context.peers == nullptr) {
    return InvalidArgument(Info().name + " needs at least 2 ranks; this run has " +
                           std::to_string(context.world_size));
  }
  return new_case_(context);
}

}  // namespace assay
