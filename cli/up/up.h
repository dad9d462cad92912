// A whole Assay on one machine: PostgreSQL, coordinator and agent as children.
#pragma once

#include <string>

#include "cli/commands/client.h"

namespace assay::cli {

// DIR/postgres      the database     DIR/log/*.log   a log a program
// DIR/agent         the agent's state
struct UpOptions {
  std::string data;
  std::string listen = "127.0.0.1:7900";
  std::string http = "127.0.0.1:9900";
  bool no_agent = false;
  rpc::TlsFiles tls;
  bool insecure = false;
};

// Starts all, says so, and runs until SIGINT or SIGTERM (0) or until a child ends
// by itself (1, with the end of its log on stderr). The agent listens on the ports
// after the coordinator's, or on free ones where those are 0. An error if it
// cannot start: FAILED_PRECONDITION if the folder is in use already, INVALID_ARGUMENT,
// before anything is made, if two of the ports are one. An address that cannot be listened on is
// told, and the code is 2, before anything starts.
Result<ExitCode> RunUp(const UpOptions& options);

}  // namespace assay::cli
