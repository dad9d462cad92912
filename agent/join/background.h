// Keeps an agent running in the background, for machines without systemd.
#pragma once

#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"

namespace assay::agent {

struct BackgroundOptions {
  std::string data;               // The agent's data folder, which gets agent.log and agent.pid.
  std::vector<std::string> argv;  // The agent's command line.
  // An option appended to argv when the agent is first started. Its value is a file descriptor, to
  // which the agent writes one line once it has connected to a coordinator or failed.
  std::string report_option;
};

// Starts a background process that runs the agent. Once the agent has connected to a coordinator,
// the background process restarts it, after a delay, whenever it exits, unless the exit code is 0
// or 2. Blocks until the agent has connected or failed. Call this before starting any other thread.
// Returns
//   OK                                     if the agent has connected
//   FAILED_PRECONDITION, ALREADY_RUNNING   if a background process is already running
//   DEADLINE_EXCEEDED, NOT_READY           if the agent is still trying to connect after `patience`
//   the agent's own error                  if the agent has exited
Status StartInBackground(const BackgroundOptions& options, Duration patience);

// Stops the background agent that uses the data folder `data`. Returns NOT_FOUND if there is none.
Status StopBackground(const std::string& data);

std::string BackgroundLog(const std::string& data);

}  // namespace assay::agent
