// The address at which ranks on other nodes reach this one, and its network interface.
#pragma once

#include <string>

#include "common/status.h"

namespace assay::agent {

// Returns the address at which other nodes can probably reach this one: the local address used to
// reach `coordinator` (HOST:PORT), else the host of `listen` unless it stands for all addresses,
// else "127.0.0.1".
std::string AdvertiseAddress(const std::string& coordinator, const std::string& listen);

// Checks that ranks can listen on a configured `address` and that it can be given to others.
Status CheckAdvertiseAddress(const std::string& address);

// Returns the network interface that has this numeric address: "127.0.0.1" gives "lo". Returns an
// empty string if there is none.
std::string InterfaceOf(const std::string& address);

}  // namespace assay::agent
