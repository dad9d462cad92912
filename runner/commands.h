// Commands of assay-runner that need no agent. Each returns the exit code. Messages go to stderr,
// results to stdout.
#pragma once

#include <string>
#include <vector>

#include "kernels/registry.h"

namespace assay {

// Prints an error of the command line; returns kExitUsage.
int Refuse(const Status& status);

// NAME k=v... [-o table|json] [--seed N] [--gpu N] [--counters]: runs one case. The ranks of a
// collective are processes on this machine.
int RunCaseCommand(const Registry& registry, const std::vector<std::string>& arguments);

// NAME k=v...: prints to stdout which parameters contradict each other; returns kExitUsage then.
// Needs no GPU, so agents can check a case on a machine that cannot run it.
int CheckCommand(const Registry& registry, const std::vector<std::string>& arguments);

// NAME k=v...: runs one rank of a gang that RunCaseCommand started (local_gang.h).
int RankCommand(const Registry& registry, const std::vector<std::string>& arguments);

}  // namespace assay
