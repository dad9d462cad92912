// The addresses of services.
#pragma once

#include <string>
#include <string_view>

#include "common/status.h"

namespace assay {

struct HostPort {
  std::string host;
  int port = 0;
  // Returns true for 127.0.0.0/8, ::1 and "localhost".
  bool IsLoopback() const;
  std::string ToString() const;
};

// Parses HOST:PORT, also "[::1]:7900". Port 0 is allowed: for a listener it means any free port.
Result<HostPort> ParseHostPort(std::string_view text);

}  // namespace assay
