// Compares the clocks of agents with the coordinator's. Times in results come from the agents.
#pragma once

#include <optional>

#include "assay/v1/inventory.pb.h"
#include "assay/v1/session.pb.h"
#include "common/clock.h"

namespace assay::coordinator {

// Returns how many seconds the agent's clock is ahead of this process's, including the travel time
// of the Hello message. Returns nullopt if Hello contains no valid time, for example because the
// agent is too old to send it.
std::optional<double> ClockOffset(const v1::Hello& hello, WallTime received);

// Adds the finding "clock" to the node's health if the clocks differ by more than a minute. The
// finding is an error above ten minutes, and a warning otherwise.
void AddClockFinding(std::optional<double> offset_seconds, v1::NodeDescription& node);

}  // namespace assay::coordinator
