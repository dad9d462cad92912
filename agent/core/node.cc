#include "agent/core/node.h"

#include "wire/benchmark_schema.h"

namespace assay::agent {

namespace {

v1::Schemas ToSchemas(google::protobuf::RepeatedPtrField<v1::BenchmarkSchema> benchmarks) {
  v1::Schemas schemas;
  *schemas.mutable_benchmarks() = std::move(benchmarks);
  return schemas;
}

}  // namespace

Benchmarks::Benchmarks(google::protobuf::RepeatedPtrField<v1::BenchmarkSchema> benchmarks)
    : schemas(ToSchemas(std::move(benchmarks))), hash(schema::SchemasHash(schemas)) {}

Node::Node(v1::NodeDescription description)
    : benchmarks_(std::make_shared<const Benchmarks>(description.benchmarks())),
      description_(std::move(description)) {}

Node::Node(v1::NodeDescription description, std::shared_ptr<const Benchmarks> benchmarks)
    : benchmarks_(std::move(benchmarks)), description_(std::move(description)) {}

v1::Hello Node::Greeting() const {
  v1::Hello hello;
  *hello.mutable_node() = Describe();
  hello.mutable_node()->clear_benchmarks();
  hello.set_schemas_hash(benchmarks_->hash);
  return hello;
}

v1::NodeDescription Node::Describe() const {
  v1::NodeDescription description = description_;
  MutexLock lock(mutex_);
  description.set_metrics_address(metrics_address_);
  for (const auto* findings : {&lasting_, &latest_}) {
    for (const v1::HealthFinding& finding : *findings) *description.add_health() = finding;
  }
  return description;
}

void Node::SetHealth(std::vector<v1::HealthFinding> findings) {
  MutexLock lock(mutex_);
  latest_ = std::move(findings);
}

void Node::AddLastingFinding(v1::HealthFinding finding) {
  MutexLock lock(mutex_);
  lasting_.push_back(std::move(finding));
}

void Node::SetMetricsAddress(std::string address) {
  MutexLock lock(mutex_);
  metrics_address_ = std::move(address);
}

}  // namespace assay::agent
