// Who this agent says it is: the one place that Hello, GetInventory, results and
// metrics take it from.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "assay/v1/inventory.pb.h"
#include "common/mutex.h"

namespace assay::agent {

// Thread-safe.
class Node {
 public:
  // `description` without health.
  explicit Node(v1::NodeDescription description) : description_(std::move(description)) {}

  // Constant; health and the address of /metrics are left empty here.
  const v1::NodeDescription& description() const { return description_; }

  // With the latest health and the address of /metrics.
  v1::NodeDescription Describe() const;

  // The findings of the latest preflight replace earlier ones; those of the catalogue
  // (a runner that does not answer) stay.
  void SetHealth(std::vector<v1::HealthFinding> findings);
  void AddLastingFinding(v1::HealthFinding finding);

  // HOST:PORT, once it is known.
  void SetMetricsAddress(std::string address);

 private:
  const v1::NodeDescription description_;
  mutable Mutex mutex_;
  std::vector<v1::HealthFinding> lasting_ ASSAY_GUARDED_BY(mutex_);
  std::vector<v1::HealthFinding> latest_ ASSAY_GUARDED_BY(mutex_);
  std::string metrics_address_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace assay::agent
