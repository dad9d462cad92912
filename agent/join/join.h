// The command `assay-agent join`, up to the start of the agent.
#pragma once

#include "agent/options.h"
#include "common/status.h"
#include "host/rental.h"

namespace assay::agent {

// Enrols this node, checks its GPUs and its runner, and says on stdout what it did. A node without
// usable GPUs joins too, because benchmarks of the CPU run there. Blocks for at most about a
// minute.
Status JoinFleet(const Rental& rental, const JoinOptions& options);

}  // namespace assay::agent
