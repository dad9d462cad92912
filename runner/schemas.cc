#include "runner/schemas.h"

#include "runner/case_result.h"

namespace assay {
namespace {

v1::ParameterType ToMessage(ParameterType type) {
  switch (type) {
    case ParameterType::kInteger:
      return v1::PARAMETER_TYPE_INTEGER;
    case ParameterType::kBytes:
      return v1::PARAMETER_TYPE_BYTES;
    case ParameterType::kChoice:
      return v1::PARAMETER_TYPE_CHOICE;
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

void Fill(const Constraint& constraint, v1::ParameterConstraint* message) {
  message->set_parameter(constraint.parameter);
  message->mutable_values()->Add(constraint.values.begin(), constraint.values.end());
  message->mutable_choices()->Add(constraint.choices.begin(), constraint.choices.end());
  if (constraint.maximum) message->set_maximum(*constraint.maximum);
  if (constraint.multiple > 1) message->set_multiple(constraint.multiple);
  message->set_reason(constraint.reason);
}

void Fill(const ParameterSpec& spec, v1::ParameterSchema* message) {
  message->set_name(spec.name);
  message->set_type(ToMessage(spec.type));
  message->set_description(spec.description);
  if (spec.default_value) message->set_default_value(*spec.default_value);
  if (spec.minimum) message->set_minimum(*spec.minimum);
  if (spec.maximum) message->set_maximum(*spec.maximum);
  message->mutable_choices()->Add(spec.choices.begin(), spec.choices.end());
  if (spec.multiple > 1) message->set_multiple(spec.multiple);
  for (const Constraint& constraint : spec.constraints)
    Fill(constraint, message->add_constraints());
}

}  // namespace

BenchmarkSchemas SchemasOf(const Registry& registry) {
  BenchmarkSchemas schemas;
  for (const auto& benchmark : registry.All()) {
    const BenchmarkInfo& info = benchmark->Info();
    v1::BenchmarkSchema* schema = schemas.Add();
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
  return schemas;
}

}  // namespace assay
