// What assay-runner does without an agent. Each returns the exit code; messages go
// to stderr, results to stdout.
#pragma once

#include <string>
#include <vector>

#include "kernels/registry.h"

namespace assay {

// Prints why the arguments are refused; returns kExitUsage.
int Refuse(const Status& status);

// NAME k=v... [-o table|json] [--seed N] [--gpu N]: one case, with its own ranks on
// this machine if the benchmark is collective.
int RunCaseCommand(const Registry& registry, const std::vector<std::string>& arguments);

// NAME k=v...: says on stdout what in the parameters contradicts each other, and then returns
// kExitUsage. The same on every machine: for agents on those that lack what the case needs.
int CheckCommand(const Registry& registry, const std::vector<std::string>& arguments);

// NAME k=v...: one rank of a gang that RunCaseCommand started; see local_gang.h.
int RankCommand(const Registry& registry, const std::vector<std::string>& arguments);

}  // namespace assay
