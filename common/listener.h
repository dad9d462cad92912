// Listening sockets of TCP.
#pragma once

#include <vector>

#include "common/host_port.h"
#include "common/status.h"
#include "common/subprocess.h"

namespace assay {

struct Listener {
  HostPort address;  // With the actual port.
  // One non-blocking, close-on-exec socket per address of the host. For example, "localhost" may
  // have two addresses.
  std::vector<FileDescriptor> sockets;
};

// Listens on the addresses that `address.host` resolves to. Port 0 selects a free port. If none of
// them can be used, fails with reason ADDRESS_IN_USE and a message that states the cause.
Result<Listener> ListenOn(const HostPort& address);

}  // namespace assay
