#include "agent/core/node.h"

#include "wire/benchmark_schema.h"

namespace assay::agent {

Node::Node(v1::NodeDescription description)
    : description_(std::move(description)), schemas_hash_(schema::SchemasHash(Schemas())) {}

v1::Hello Node::Greeting() const {
  v1::Hello hello;
  *hello.mutable_node() = Describe();
  hello.mutable_node()->clear_benchmarks();
  hello.set_schemas_hash(schemas_hash_);
  return hello;
}

v1::Schemas Node::Schemas() const {
  v1::Schemas schemas;
  *schemas.mutable_benchmarks() = description_.benchmarks();
  return schemas;
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
