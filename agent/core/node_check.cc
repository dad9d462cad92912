#include "agent/core/node_check.h"

#include <algorithm>

#include "agent/core/runner_query.h"
#include "common/log.h"
#include "wire/reasons.h"

namespace assay::agent {

std::vector<int> GpusOf(const v1::NodeDescription& node) {
  std::vector<int> gpus;
  for (const v1::GpuInventory& gpu : node.inventory().gpus()) gpus.push_back(gpu.index());
  return gpus;
}

v1::NodeChecked CheckNode(const std::string& runner, const Preflight& preflight, Node* node) {
  node->SetHealth(preflight.Run(GpusOf(node->description()), kPreflightBudget).findings);
  v1::NodeChecked checked;
  // Includes the lasting findings, with which the node can run no job before a restart.
  *checked.mutable_health() = node->Describe().health();
  const auto error = std::find_if(
      checked.health().begin(), checked.health().end(),
      [](const auto& finding) { return finding.severity() == v1::HealthFinding::SEVERITY_ERROR; });
  if (error != checked.health().end()) {
    *checked.mutable_failure() =
        MakeFailure(v1::REASON_PREFLIGHT_FAILED, error->message(), "check: " + error->check());
  } else if (const auto described = DescribeRunner(runner, kDescribeTimeout); !described.ok()) {
    *checked.mutable_failure() =
        MakeFailure(v1::REASON_RUNNER_UNUSABLE, described.status().message());
  }
  if (checked.has_failure()) {
    checked.mutable_failure()->set_node_id(node->description().node_id());
    Log().warn("the check of this node failed: {}", checked.failure().message());
  } else {
    Log().info("the check of this node passed");
  }
  return checked;
}

}  // namespace assay::agent
