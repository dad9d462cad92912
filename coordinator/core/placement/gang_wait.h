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

// The ids of those that are not ready, in rank order.
std::vector<std::string> LateNodes(const GangWait& wait);

// What they may have been at: "g2 did not take the job".
std::string WhyLate(const GangWait& wait);

// True if the others were ready in less than half of the time, so that those that are not are at
// fault and not the time.
bool OthersWereQuick(const GangWait& wait);

}  // namespace assay::coordinator
