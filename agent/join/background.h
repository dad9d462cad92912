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
  // An option that is appended to argv when the agent is first started. Its value is the number of
  // a file descriptor. The agent writes one line to the descriptor when it has connected to a
  // coordinator or has failed.
  std::string report_option;
};

// Starts a background process that runs the agent. If an agent that has connected to a coordinator
// ends later, except with exit code 0 or 2, it is restarted after a delay. Blocks until the agent
// has connected or failed. Call this before any other thread is started. Returns
//   OK                                     if the agent has connected
//   FAILED_PRECONDITION, ALREADY_RUNNING   if there is a background process already
//   DEADLINE_EXCEEDED, NOT_READY           if the agent keeps trying to connect after `patience`
//   the agent's own error                  if the agent has ended
Status StartInBackground(const BackgroundOptions& options, Duration patience);

// Stops the background agent that uses the data folder `data`. Returns NOT_FOUND if there is none.
Status StopBackground(const std::string& data);

std::string BackgroundLog(const std::string& data);

}  // namespace assay::agent
