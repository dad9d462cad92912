// The command line of `assay-agent simulate`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/clock.h"

namespace assay::agent {

struct SimulateOptions {
  std::string coordinator;  // HOST:PORT.
  int nodes = 8;
  std::string profile = "8x-h200";
  std::string prefix = "sim-";
  uint64_t seed = 1;
  uint64_t first_run = 0;
  std::string faults_file;  // Empty: none.
  Duration job_time = std::chrono::seconds(1);
  bool insecure = false;
  std::string log_level = "warn";
  int ready_fd = -1;
};

// Parses the arguments after "simulate". If the program must exit, returns nullopt and sets
// `exit_code` to 0 (for --help) or 2 (for an error, already printed to stderr).
std::optional<SimulateOptions> ParseSimulateOptions(int argc, char** argv, int* exit_code);

}  // namespace assay::agent
