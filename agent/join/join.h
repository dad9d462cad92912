// Implements the command `assay-agent join`, up to the start of the agent.
#pragma once

#include "agent/options.h"
#include "common/status.h"
#include "host/rental.h"

namespace assay::agent {

// Makes this node a member of a fleet, checks its GPUs and its runner program, and prints the
// results to stdout. Accepts a node without usable GPUs, which can still run CPU benchmarks. May
// block for up to about a minute.
Status JoinFleet(const Rental& rental, const JoinOptions& options);

}  // namespace assay::agent
