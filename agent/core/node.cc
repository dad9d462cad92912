#include "agent/core/node.h"

namespace assay::agent {

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
