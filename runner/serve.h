// The agent's protocol (runner.proto): commands in on one descriptor, events out
// on another, logs on stderr.
#pragma once

#include "kernels/registry.h"

namespace assay {

// Writes one RunnerDescription and returns the exit code.
int Describe(const Registry& registry, int events_fd);

// Runs one job and returns the exit code. The end of `commands_fd` at any time, or
// an event that nobody reads, ends the process at once with kExitStopped.
int Serve(const Registry& registry, int commands_fd, int events_fd);

}  // namespace assay
