// The address at which ranks on other nodes reach this one, and its network interface.
#pragma once

#include <string>

#include "common/status.h"

namespace assay::agent {

// Returns the address at which other nodes can probably reach this node. This is the local address
// used to reach `coordinator` (HOST:PORT), if it can be determined. Otherwise it is the host of
// `listen`, or "127.0.0.1" if that host stands for all addresses.
std::string AdvertiseAddress(const std::string& coordinator, const std::string& listen);

// Checks that ranks can listen on a configured `address` and that it can be given to others.
Status CheckAdvertiseAddress(const std::string& address);

// Returns the name of the network interface that has this numeric address. For example, "127.0.0.1"
// gives "lo". Returns an empty string if no interface has it.
std::string InterfaceOf(const std::string& address);

}  // namespace assay::agent
