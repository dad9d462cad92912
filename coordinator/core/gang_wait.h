// A gang whose start waits for nodes that have not said that their ranks are ready.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "storage/types.h"

namespace assay::coordinator {

struct GangWait {
  struct Node {
    std::string node_id;
    std::string name;
    std::optional<Duration> ready;  // For how long its ranks have been; absent: they are not.
    std::optional<Duration> spoke;  // Since a State of its agent listed the job, if one did.
  };
  storage::LeasedJob job;
  Duration waited{0};       // Since the assignment, or this process heard of the wait.
  std::vector<Node> nodes;  // The placement, in rank order.
  // The others may have begun, as a process before this one told them to.
  bool adopted = false;
};

// Which ranks on which nodes are not ready and what their agents said last, and which are and
// for how long.
std::string DescribeWait(const GangWait& wait);

// The first node that is not ready; nullptr if all are.
const GangWait::Node* FirstLate(const GangWait& wait);

// True if the others were ready in less than half of the time, so that those that are not are at
// fault and not the time.
bool OthersWereQuick(const GangWait& wait);

}  // namespace assay::coordinator
