// Groups performance regressions by the cause that they share.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace assay::analysis {

// A step (a lasting change of performance, see steps.h) of one case at one place.
struct SteppedCase {
  double last_good_time = 0;  // Seconds, from any origin: the last run before the step.
  double time = 0;            // The first run after it.
  std::string case_id;
  std::string driver_before, driver_after;
  std::string agent_before, agent_after;
  std::vector<std::string> gpus;  // UUIDs.
  std::vector<std::string> nodes;
};

enum class CauseKind { kDriver, kAgent, kGpu, kNode, kCase };

struct IncidentGroup {
  CauseKind kind = CauseKind::kCase;
  // The versions before and after the step, if the cause is a driver or an agent. Otherwise `from`
  // is empty and `to` is the GPU, node or case.
  std::string from, to;
  std::vector<size_t> members;  // Indices of steps.
};

// Groups steps (lasting changes in performance) into incidents. Steps form an incident if they
// share a cause and the times between their last good run and their first bad run overlap, directly
// or through other steps. Steps with the same change of driver or agent need not overlap, because
// upgrades take weeks.
// Causes are tried in the order of CauseKind, so a new driver is blamed before a node, and a GPU
// before its node. A GPU must be involved in most of the node's steps, in more of them than any
// other GPU, and in at least two cases. A node also needs two cases, or one that changed on several
// of its GPUs and on no other node.
std::vector<IncidentGroup> GroupIncidents(const std::vector<SteppedCase>& steps);

}  // namespace assay::analysis
