// The command line of assay-coordinator.
#pragma once

#include <optional>
#include <string>

#include "common/clock.h"
#include "common/host_port.h"
#include "wire/credentials.h"

namespace assay::coordinator {

struct CoordinatorOptions {
  HostPort listen;
  std::optional<HostPort> http;  // Absent: no HTTP.
  // libpq's key=value form or a postgresql:// URL; may hold a password, so it is never
  // logged.
  std::string database;
  assay::rpc::TlsFiles tls;
  assay::rpc::TlsFiles agent_tls;  // For dialling agents.
  bool insecure = false;
  Duration lease{0};
  Duration heartbeat{0};
  std::string log_level;
  int ready_fd = -1;
};

// Parses the command line. Returns the options, or the exit code if the program must end: 0 after
// --help and --version, 2 after an error, which it explains on stderr.
struct ParsedOptions {
  std::optional<CoordinatorOptions> options;
  int exit_code = 0;
};
ParsedOptions ParseOptions(int argc, char** argv);

}  // namespace assay::coordinator
