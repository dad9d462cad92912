// The command line of `assay-agent simulate`.
#pragma once

#include <optional>

#include "agent/simulate/simulated_fleet.h"

namespace assay::agent {

// Parses the arguments after "simulate". Returns nullopt and the exit code if the program must end:
// 0 after --help, 2 after an error, which has already been printed to stderr.
std::optional<SimulateOptions> ParseSimulateOptions(int argc, char** argv, int* exit_code);

}  // namespace assay::agent
