// The command line of assay-agent.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "wire/credentials.h"
#include "wire/node_labels.h"

namespace assay::agent {

struct AgentOptions {
  std::string data;
  std::vector<std::string> coordinators;  // HOST:PORT of each; empty: none is dialled.
  std::string listen = "127.0.0.1:7901";  // Empty: no gRPC.
  std::string http = "127.0.0.1:9901";    // Empty: no HTTP.
  std::string name;
  schema::Labels labels;
  std::string provider;
  std::string region;
  std::optional<double> price_per_hour;
  std::string runner;
  std::string advertise_address;
  std::string nccl_host_id;       // Empty: the node's id.
  std::vector<std::string> gpus;  // Numbers or UUIDs; empty: all GPUs of the node.
  rpc::TlsFiles tls;
  bool insecure = false;
  std::string log_level = "info";
  int ready_fd = -1;
};

struct ParsedOptions {
  std::optional<AgentOptions> options;
  int exit_code = 0;
};
// Parses the command line. Returns either the options or the exit code with which the program must
// end: 0 for --help and --version, or 2 for an error. In both cases, the output has already been
// printed.
ParsedOptions ParseOptions(int argc, char** argv);

}  // namespace assay::agent
