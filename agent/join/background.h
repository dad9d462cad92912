// An agent without a terminal and without systemd: a process that keeps it running.
#pragma once

#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"

namespace assay::agent {

struct BackgroundOptions {
  std::string data;               // The agent's data folder, which gets agent.log and agent.pid.
  std::vector<std::string> argv;  // The agent's command line.
  // Appended to argv at the first start, with the number of a descriptor to which the agent writes
  // one line once it is attached or has failed.
  std::string report_option;
};

// Starts a process of a session of its own, which runs the agent and starts it again, after a
// delay, unless it ended with 0 or 2. Blocks until the agent has written its line. Returns
//   OK                                     the agent is attached
//   FAILED_PRECONDITION, ALREADY_RUNNING   such a process runs already
//   DEADLINE_EXCEEDED, NOT_READY           not attached within `patience`; it keeps trying
//   the agent's own error                  it has ended
// Call this before any other thread is started.
Status StartInBackground(const BackgroundOptions& options, Duration patience);

// Stops the agent of the data folder. Returns NOT_FOUND if none runs in the background.
Status StopBackground(const std::string& data);

std::string BackgroundLog(const std::string& data);

}  // namespace assay::agent
