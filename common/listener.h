// Listening sockets of TCP.
#pragma once

#include <vector>

#include "common/host_port.h"
#include "common/status.h"
#include "common/subprocess.h"

namespace assay {

struct Listener {
  HostPort address;  // With the actual port.
  // One per address of the host ("localhost" may have two); not blocking, closed on exec.
  std::vector<FileDescriptor> sockets;
};

// Binds every address of `address.host` and listens. Port 0 takes a free one. The error names the
// address and says why (reason kAddressInUse).
Result<Listener> ListenOn(const HostPort& address);

}  // namespace assay
