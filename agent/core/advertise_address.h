// The address at which ranks on other nodes reach this one, and its network interface.
#pragma once

#include <string>

#include "common/status.h"

namespace assay::agent {

// Returns the local address that this machine uses to reach `coordinator` (HOST:PORT); else the
// host of `listen`, unless that means all addresses; else "127.0.0.1".
std::string AdvertiseAddress(const std::string& coordinator, const std::string& listen);

// Checks that ranks can listen on a configured `address` and that it can be given to others.
Status CheckAdvertiseAddress(const std::string& address);

// Returns the network interface with this address ("127.0.0.1" gives "lo"); empty if there is none,
// or if `address` is not numeric.
std::string InterfaceOf(const std::string& address);

}  // namespace assay::agent
