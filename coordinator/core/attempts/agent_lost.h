// The failure of an attempt whose agent is gone, or has come back without it.
#pragma once

#include <string>

#include "assay/v1/failure.pb.h"

namespace assay::coordinator {

// NODE, AGENT_LOST, at this node.
v1::Failure AgentLost(const std::string& node_id, std::string message);

}  // namespace assay::coordinator
