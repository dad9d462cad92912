#include "coordinator/core/attempts/agent_lost.h"

#include <utility>

namespace assay::coordinator {

v1::Failure AgentLost(const std::string& node_id, std::string message) {
  v1::Failure failure;
  failure.set_failure_class(v1::FAILURE_CLASS_NODE);
  failure.set_reason(v1::REASON_AGENT_LOST);
  failure.set_message(std::move(message));
  failure.set_node_id(node_id);
  return failure;
}

}  // namespace assay::coordinator
