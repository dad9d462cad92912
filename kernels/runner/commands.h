// What assay-runner does without an agent. Each returns the exit code; messages go
// to stderr, results to stdout.
#pragma once

#include <string>
#include <vector>

#include "kernels/registry.h"

namespace assay {

// NAME k=v... [-o table|json] [--seed N] [--gpu N]: one case, with its own ranks on
// this machine if the benchmark is collective.
int RunCaseCommand(const Registry& registry, const std::vector<std::string>& arguments);

// Verifies every benchmark that this machine supports, or those of `names`, a line each.
int SelftestCommand(const Registry& registry, const std::vector<std::string>& names);

// NAME k=v...: one rank of a gang that RunCaseCommand started; see local_gang.h.
int RankCommand(const Registry& registry, const std::vector<std::string>& arguments);

}  // namespace assay
