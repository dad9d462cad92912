#include "runner/describe.h"

#include "kernels/cpu/blas.h"
#include "runner/case_result.h"

namespace assay {
namespace {

v1::ParameterType ToMessage(ParameterType type) {
  switch (type) {
    case ParameterType::kInteger:
      return v1::PARAMETER_TYPE_INTEGER;
    case ParameterType::kBytes:
      return v1::PARAMETER_TYPE_BYTES;
    case ParameterType::kWord:
      return v1::PARAMETER_TYPE_WORD;
    case ParameterType::kBoolean:
      break;
  }
  return v1::PARAMETER_TYPE_BOOLEAN;
}

v1::ResourceKind ToMessage(Resource resource) {
  switch (resource) {
    case Resource::kCpu:
      return v1::RESOURCE_KIND_CPU;
    case Resource::kGpu:
      return v1::RESOURCE_KIND_GPU;
    case Resource::kNetwork:
      break;
  }
  return v1::RESOURCE_KIND_NETWORK;
}

void Fill(const Limit& limit, v1::ParameterLimit* message) {
  for (const auto& [name, values] : limit.when) {
    v1::ParameterCondition* const condition = message->add_when();
    condition->set_parameter(name);
    condition->mutable_values()->Add(values.begin(), values.end());
  }
  message->mutable_values()->Add(limit.values.begin(), limit.values.end());
  if (limit.minimum) message->set_minimum(*limit.minimum);
  if (limit.maximum) message->set_maximum(*limit.maximum);
  message->set_minimum_per(limit.minimum_per);
  message->set_why(limit.why);
  message->mutable_times()->Add(limit.times.begin(), limit.times.end());
}

void Fill(const ParameterSpec& spec, v1::ParameterSchema* message) {
  message->set_name(spec.name);
  message->set_type(ToMessage(spec.type));
  message->set_description(spec.description);
  if (spec.default_value) message->set_default_value(*spec.default_value);
  if (spec.minimum) message->set_minimum(*spec.minimum);
  if (spec.maximum) message->set_maximum(*spec.maximum);
  for (const std::string& word : spec.words) message->add_words(word);
  message->set_below(spec.below);
  for (const Limit& limit : spec.limits) Fill(limit, message->add_limits());
  const MultipleOf& of = spec.multiple_of;
  if (of.number == 1 && of.parameter.empty()) return;
  v1::MultipleOf* const multiple = message->mutable_multiple_of();
  if (of.number != 1) multiple->set_number(of.number);
  multiple->set_parameter(of.parameter);
  multiple->mutable_of_words()->insert(of.of_words.begin(), of.of_words.end());
}

}  // namespace

v1::RunnerDescription DescribeBenchmarks(const Registry& registry) {
  v1::RunnerDescription description;
  LinkedSoftware software = Software();
  software.blas = BlasVersion();
  Fill(software, description.mutable_software());
  for (const auto& benchmark : registry.All()) {
    const BenchmarkInfo& info = benchmark->Info();
    v1::BenchmarkSchema* schema = description.add_benchmarks();
    schema->set_name(info.name);
    schema->set_version(info.version);
    schema->set_summary(info.summary);
    schema->set_resource(ToMessage(info.resource));
    schema->set_collective(info.collective);
    schema->set_model(info.model);
    schema->set_prediction(info.prediction);
    schema->set_unsupported_reason(benchmark->UnsupportedReason());
    for (const ParameterSpec& spec : info.parameters) Fill(spec, schema->add_parameters());
    for (const Metric& metric : info.metrics) {
      v1::MetricSchema* message = schema->add_metrics();
      message->set_name(metric.name);
      message->set_unit(metric.unit);
      message->set_direction(ToMessage(metric.direction));
      message->set_description(metric.description);
    }
  }
  return description;
}

}  // namespace assay
