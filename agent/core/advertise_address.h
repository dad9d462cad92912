// Determines the address at which ranks on other nodes reach this node, and its network interface.
#pragma once

#include <string>

#include "common/status.h"

namespace assay::agent {

// Returns the address at which other nodes can probably reach this node: the local address from
// which it connects to `coordinator` (HOST:PORT). If that cannot be determined, returns the host of
// `listen`, or "127.0.0.1" if that host is a wildcard such as "0.0.0.0".
std::string AdvertiseAddress(const std::string& coordinator, const std::string& listen);

// Checks that ranks can listen on a configured `address` and that it can be given to others.
Status CheckAdvertiseAddress(const std::string& address);

// Returns the name of the network interface with this numeric address, such as "lo" for
// "127.0.0.1", or an empty string if there is none.
std::string InterfaceOf(const std::string& address);

}  // namespace assay::agent
