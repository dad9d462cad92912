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
  // An option that is appended to argv at the first start, with the number of a file descriptor.
  // The agent writes one line to this descriptor when it is attached to a coordinator or has
  // failed.
  std::string report_option;
};

// Starts a process in a new session, which runs the agent and restarts it after a delay, unless it
// ended with exit code 0 or 2. Blocks until the agent has written its line. Returns
//   OK                                     if the agent is attached to a coordinator
//   FAILED_PRECONDITION, ALREADY_RUNNING   if such a process is running already
//   DEADLINE_EXCEEDED, NOT_READY           if the agent is not attached within `patience`; it keeps
//                                          trying
//   the agent's own error                  if the agent has ended
// Call this before any other thread is started.
Status StartInBackground(const BackgroundOptions& options, Duration patience);

// Stops the background agent that uses the data folder `data`. Returns NOT_FOUND if there is none.
Status StopBackground(const std::string& data);

std::string BackgroundLog(const std::string& data);

}  // namespace assay::agent
