// Describes a gang (a job on several nodes) that has not started yet, because some of its nodes
// are not ready.
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
    std::optional<Duration> ready;  // How long its ranks have been ready; absent if they are not.
    // Time since its agent's last State message that listed the job; absent if there was none.
    std::optional<Duration> spoke;
  };
  storage::LeasedJob job;
  Duration waited{0};       // Since the assignment, or since this process learned of the wait.
  std::vector<Node> nodes;  // The placement, in rank order.
  // True if an earlier coordinator process may already have told the other ranks to begin.
  bool adopted = false;
};

// Explains to the user why a job on several nodes has not started: which ranks are not ready, when
// their agents last mentioned the job, and how long the other ranks have been ready.
std::string DescribeWait(const GangWait& wait);

// Returns the ids of the nodes that are not ready, in rank order.
std::vector<std::string> LateNodes(const GangWait& wait);

// Describes the last known state of the nodes that are not ready: "g2 did not take the job".
std::string WhyLate(const GangWait& wait);

// Returns true if some nodes are ready and each of them needed less than half of the waiting time.
// In that case, a timeout is due to the late nodes rather than to a time limit that is too short.
bool OthersWereQuick(const GangWait& wait);

}  // namespace assay::coordinator
