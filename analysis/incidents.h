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
  // The versions before and after the step, for kDriver and kAgent. For other causes, `to` is the
  // GPU, node or case.
  std::string from, to;
  std::vector<size_t> members;  // Indices of steps.
};

// Groups steps into incidents. Steps belong to one incident if they share a cause and the times
// between their last good run and their first bad run overlap, directly or through other steps.
// Steps with the same change of driver or agent may be any time apart, because upgrades take weeks.
// Causes are tried in the order of CauseKind, so a new driver explains steps on many nodes before a
// node is blamed, and a GPU explains the steps of its cases before its node does.
// - A GPU is a cause if it takes part in most of the node's steps at that time, and in more of them
//   than any other GPU. It needs steps of at least two cases.
// - A node is a cause if several of its GPUs, or sets of GPUs, are affected, or if its cases use no
//   GPU. It needs steps of at least two cases, unless the only case has steps on this node alone.
std::vector<IncidentGroup> GroupIncidents(const std::vector<SteppedCase>& steps);

}  // namespace assay::analysis
