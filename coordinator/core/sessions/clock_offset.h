// Compares the clocks of agents with the coordinator's. Times in results come from the agents.
#pragma once

#include <optional>

#include "assay/v1/inventory.pb.h"
#include "assay/v1/session.pb.h"
#include "common/clock.h"

namespace assay::coordinator {

// Returns the agent's clock minus this process's clock in seconds, including the time that Hello
// took. Returns nullopt if Hello has no valid time, as from older agents.
std::optional<double> ClockOffset(const v1::Hello& hello, WallTime received);

// Adds the finding "clock" to the node's health if the offset exceeds one minute. The finding is an
// error if the offset exceeds ten minutes, and a warning otherwise.
void AddClockFinding(std::optional<double> offset_seconds, v1::NodeDescription& node);

}  // namespace assay::coordinator
