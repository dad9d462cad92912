// Checks whether a node that the coordinator has quarantined is healthy again.
#pragma once

#include <string>
#include <vector>

#include "agent/core/node.h"
#include "agent/core/preflight.h"
#include "assay/v1/session.pb.h"

namespace assay::agent {

// Finds out whether the node can run benchmarks: checks the health of its GPUs and of the host, and
// asks the runner program for its list of benchmarks. Stores the findings in `node`. The returned
// message includes a failure if any finding is an ERROR or the runner does not return its list. May
// block for up to 80 s if the driver is slow to respond and the runner hangs.
v1::NodeChecked CheckNode(const std::string& runner, const Preflight& preflight, Node* node);

// Returns the indices of the node's GPUs.
std::vector<int> GpusOf(const v1::NodeDescription& node);

// Time limits of the check's parts. The preflight takes up to twice its budget.
inline constexpr Duration kPreflightBudget = std::chrono::seconds(10);
// The driver of eight GPUs may need this long to wake up if it was suspended.
inline constexpr Duration kDescribeTimeout = std::chrono::seconds(60);

}  // namespace assay::agent
