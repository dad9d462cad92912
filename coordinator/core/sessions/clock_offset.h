// Compares the clocks of agents with the coordinator's. Times in results come from the agents.
#pragma once

#include <optional>

#include "assay/v1/inventory.pb.h"
#include "assay/v1/session.pb.h"
#include "common/clock.h"

namespace assay::coordinator {

// Returns by how many seconds the agent's clock is ahead of this process's clock. The travel time
// of the Hello message is part of the result. Returns nullopt if Hello contains no valid time,
// for example because the agent is too old to send it.
std::optional<double> ClockOffset(const v1::Hello& hello, WallTime received);

// Adds the finding "clock" to the node's health if the clocks differ by more than one minute. The
// finding is an error if they differ by more than ten minutes, and a warning otherwise.
void AddClockFinding(std::optional<double> offset_seconds, v1::NodeDescription& node);

}  // namespace assay::coordinator
