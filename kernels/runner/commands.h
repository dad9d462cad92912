// What assay-runner does without an agent. Each returns the exit code; messages go
// to stderr, results to stdout.
#pragma once

#include <string>
#include <vector>

#include "kernels/registry.h"

namespace assay {

// Prints why the arguments are refused; returns kExitUsage.
int Refuse(const Status& status);

// Whether an argument is meant as an option: "-o", "--seed=3".
bool LooksLikeOption(const std::string& argument);

// INVALID_ARGUMENT: `command` ("run", "list"; "assay-runner" for none) has no option `argument`;
// names those that it has.
Status UnknownOption(const std::string& argument, const std::string& command);

// NAME k=v... [-o table|json] [--seed N] [--gpu N]: one case, with its own ranks on
// this machine if the benchmark is collective.
int RunCaseCommand(const Registry& registry, const std::vector<std::string>& arguments);

// NAME k=v...: says on stdout what in the parameters contradicts each other, and then returns
// kExitUsage. The same on every machine: for agents on those that lack what the case needs.
int CheckCommand(const Registry& registry, const std::vector<std::string>& arguments);

// [NAME [k=v...]]...: verifies every benchmark that this machine supports, or these, a line
// each. What is given stands in for the parameters of the benchmark's self-test.
int SelftestCommand(const Registry& registry, const std::vector<std::string>& arguments);

// NAME k=v...: one rank of a gang that RunCaseCommand started; see local_gang.h.
int RankCommand(const Registry& registry, const std::vector<std::string>& arguments);

}  // namespace assay
